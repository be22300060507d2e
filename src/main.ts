#!/usr/bin/env node
/** The command line: checks that this Node can run it, then parses, picks a program and runs it. */

const OLDEST_NODE = 24;
const [major] = process.versions.node.split(".");

if (Number(major) < OLDEST_NODE) {
  process.stderr.write(
    `evenkeel needs Node ${OLDEST_NODE} or later and this is ${process.versions.node}: in a checkout use "npx evenkeel", which brings its own; elsewhere install Node ${OLDEST_NODE}\n`,
  );
  process.exitCode = 1;
} else {
  // A reader that has seen enough (`| head`) ends a program that only shows; a log that nobody takes ends nothing.
  process.stdout.on("error", () => process.exit(0));
  process.stderr.on("error", () => undefined);
  const { run } = await import("./programs/command-line.ts");
  const code = await run(process.argv.slice(2));
  // Idle keep-alive connections and parked threads must not keep a finished program alive.
  process.exit(code);
}
