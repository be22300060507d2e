/**
 * Emits `dist/`: plain JavaScript, because stripping types at load costs each worker thread memory.
 *
 * It is built beside and then put in place: npm builds a checkout once more at its first `npx evenkeel` (it links the
 * checkout into its own cache, and runs `prepare`), and programs that run from `dist/` must not lose their files meanwhile.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, renameSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = `${root}/dist`;
const fresh = `${dist}-${process.pid}`;
const old = `${dist}-${process.pid}-old`;

rmSync(fresh, { recursive: true, force: true });
execFileSync(`${root}/node_modules/.bin/tsc`, ["-p", `${root}/tsconfig.build.json`, "--outDir", fresh], {
  stdio: "inherit",
});
chmodSync(`${fresh}/main.js`, 0o755);
if (existsSync(dist)) renameSync(dist, old);
renameSync(fresh, dist);
rmSync(old, { recursive: true, force: true });
