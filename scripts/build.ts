/** Emits `dist/`: plain JavaScript, because stripping types at load costs each worker thread memory. */
import { execFileSync } from "node:child_process";
import { chmodSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
rmSync(`${root}/dist`, { recursive: true, force: true });
execFileSync(`${root}/node_modules/.bin/tsc`, ["-p", `${root}/tsconfig.build.json`], { stdio: "inherit" });
chmodSync(`${root}/dist/main.js`, 0o755);
