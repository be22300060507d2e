/** Emits `dist/`: plain JavaScript, because stripping types at load costs each worker thread memory. */
import { execFileSync } from "node:child_process";
import { chmodSync, rmSync, symlinkSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
rmSync(`${root}/dist`, { recursive: true, force: true });
execFileSync(`${root}/node_modules/.bin/tsc`, ["-p", `${root}/tsconfig.build.json`], { stdio: "inherit" });
chmodSync(`${root}/dist/main.js`, 0o755);

// Where npx looks first. Without it, the first `npx evenkeel` in a checkout would install that into npx's own cache, which
// builds it once more and takes `dist/` from under a program that runs.
const command = `${root}/node_modules/.bin/evenkeel`;
rmSync(command, { force: true });
symlinkSync("../../dist/main.js", command);
