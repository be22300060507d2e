import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../../..");

function filesIn(folder: string): Map<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  const files = names.filter((name) => statSync(join(folder, name)).isFile());
  return new Map(files.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

test("what is committed is what the .proto files generate; if not, run scripts/generate.ts", () => {
  const fresh = mkdtempSync(join(tmpdir(), "evenkeel-generated-"));
  try {
    execFileSync(process.execPath, [join(root, "scripts/generate.ts"), fresh], { stdio: "pipe" });
    const committed = filesIn(join(root, "src/messages/proto/generated"));
    const generated = filesIn(fresh);
    expect([...committed.keys()]).toEqual([...generated.keys()]);
    for (const [name, text] of generated) expect(committed.get(name) === text, `${name} is stale`).toBe(true);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
});

test("generated code is types and literals only: no enum, no namespace", () => {
  for (const text of filesIn(join(root, "src/messages/proto/generated")).values()) {
    expect(text).not.toMatch(/^\s*(export )?(declare )?(const )?(enum|namespace) /m);
  }
});
