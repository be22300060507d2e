/**
 * Generates `src/messages/proto/generated` from the `.proto` files beside it: codecs and service definitions, and the
 * file descriptors that server reflection serves. Another folder can be named as the one argument.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const proto = join(root, "src/messages/proto");
const bin = join(root, "node_modules/.bin");
const output = resolve(process.argv[2] ?? join(proto, "generated"));

const NOTE = `// Generated from the .proto files by scripts/generate.ts; not to be edited.
// biome-ignore-all lint: generated
// biome-ignore-all format: generated
// biome-ignore-all assist: generated
`;

const buf = (...words: string[]): void => {
  // The plugin is found by its name, and runs on our node.
  execFileSync(join(bin, "buf"), words, {
    cwd: proto,
    stdio: "inherit",
    env: { ...process.env, PATH: `${bin}:${process.env.PATH}` },
  });
};

rmSync(output, { recursive: true, force: true });
mkdirSync(output, { recursive: true });
buf("lint");
buf("generate", "--output", output);
for (const name of readdirSync(output, { recursive: true, encoding: "utf8" })) {
  if (!name.endsWith(".ts")) continue;
  const path = join(output, name);
  // Namespaces of types, which name single enum members: nobody needs them, and the house has none.
  const code = readFileSync(path, "utf8").replaceAll(/^export namespace \w+ \{\n(?: .*\n)*\}\n\n/gm, "");
  writeFileSync(path, NOTE + code);
}

const scratch = mkdtempSync(join(tmpdir(), "evenkeel-generate-"));
try {
  buf("build", "--output", join(scratch, "descriptors.binpb"), "--exclude-source-info");
  const base64 = readFileSync(join(scratch, "descriptors.binpb")).toString("base64");
  writeFileSync(
    join(output, "descriptors.ts"),
    `${NOTE}
/** A serialised \`google.protobuf.FileDescriptorSet\` of every .proto file, in base64. */
export const DESCRIPTOR_SET_BASE64 =
${(base64.match(/.{1,110}/g) ?? []).map((line) => `  "${line}"`).join(" +\n")};
`,
  );
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
