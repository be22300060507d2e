/**
 * Emits `dist/`: plain JavaScript, because stripping types at load costs each worker thread memory.
 *
 * It is built beside and then put in place file by file, each by a rename: npm builds a checkout once more at its first
 * `npx evenkeel` (it links the checkout into its own cache, and runs `prepare`), and programs that run from `dist/` must
 * not miss a file meanwhile. New files come first, so that a changed one never imports what is not there yet.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = join(root, "dist");
const fresh = `${dist}-${process.pid}`;

rmSync(fresh, { recursive: true, force: true });
execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", join(root, "tsconfig.build.json"), "--outDir", fresh], {
  stdio: "inherit",
});

// Before it is in place: in between, nobody could run it.
chmodSync(join(fresh, "main.js"), 0o755);
const built = filesOf(fresh);
const added = built.filter((file) => !existsSync(join(dist, file)));
const changed = built.filter((file) => existsSync(join(dist, file)) && !isSame(join(dist, file), join(fresh, file)));
for (const file of [...added, ...changed]) {
  mkdirSync(dirname(join(dist, file)), { recursive: true });
  renameSync(join(fresh, file), join(dist, file));
}
const wanted = new Set(built);
for (const file of filesOf(dist)) if (!wanted.has(file)) rmSync(join(dist, file), { force: true });
rmSync(fresh, { recursive: true, force: true });

/** In content and in who may run it. */
function isSame(left: string, right: string): boolean {
  return statSync(left).mode === statSync(right).mode && readFileSync(left).equals(readFileSync(right));
}

/** Paths of all files under a directory, relative to it. */
function filesOf(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1));
}
