import { readFileSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { run } from "../../../src/programs/command-line.ts";

test("--version prints the manifest's", async () => {
  const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  try {
    expect(await run(["--version"])).toBe(0);
    const manifest = readFileSync(new URL("../../../package.json", import.meta.url), "utf8");
    expect(write.mock.calls.map(([text]) => text)).toEqual([
      `${(JSON.parse(manifest) as { version: string }).version}\n`,
    ]);
  } finally {
    write.mockRestore();
  }
});
