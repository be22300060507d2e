import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { describePortHolder } from "../../../src/programs/port-holder.ts";

const PORT = 7070;
const PORT_HEX = "1B9E";
const INODE = 4242;

/** A proc tree in which process 4711, with that command line and name, listens on the port. */
function procWith({ cmdline, comm = "MainThread" }: { cmdline: string; comm?: string }): string {
  const proc = mkdtempSync(join(tmpdir(), "evenkeel-proc-"));
  onTestFinished(() => rmSync(proc, { recursive: true, force: true }));
  mkdirSync(join(proc, "net"));
  const row = `   0: 0100007F:${PORT_HEX} 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 ${INODE} 1`;
  writeFileSync(join(proc, "net", "tcp"), `  sl  local_address rem_address   st\n${row}\n`);
  mkdirSync(join(proc, "4711", "fd"), { recursive: true });
  symlinkSync(`socket:[${INODE}]`, join(proc, "4711", "fd", "20"));
  writeFileSync(join(proc, "4711", "cmdline"), cmdline);
  writeFileSync(join(proc, "4711", "comm"), `${comm}\n`);
  return proc;
}

const words = (...all: string[]): string => all.map((word) => `${word}\0`).join("");

test.each([
  [
    "the command line, paths by their last part",
    words("/usr/bin/node", "/srv/evenkeel/dist/main.js", "scheduler", "--http", "127.0.0.1:7070"),
    "node main.js scheduler --http 127.0.0.1:7070",
  ],
  ["cut to 60 characters", words("nginx:", "master", "x".repeat(100)), `nginx: master ${"x".repeat(45)}…`],
  ["without what a terminal would obey", words("a\u001b[2J\nb", "c"), "a [2J b c"],
  ["the name, where there is no command line", "", "MainThread"],
])("%s", (_, cmdline, shown) => {
  expect(describePortHolder(procWith({ cmdline }), PORT)).toBe(`${shown} (process 4711)`);
});

test("nobody, where nobody listens there", () => {
  expect(describePortHolder(procWith({ cmdline: words("node") }), PORT + 1)).toBe(null);
});
