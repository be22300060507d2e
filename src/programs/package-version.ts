import { readFileSync } from "node:fs";

/** As the package's manifest says. */
export function packageVersion(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
