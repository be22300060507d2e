import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { outcomeOfError, readAndParse, readKernelFile } from "../../../src/actors/sampler/kernel-file.ts";
import { failed, found, none } from "../../../src/actors/sampler/outcome.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "evenkeel-file-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function fileWith(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

test("a file is read to its end, also where it is longer than the shared buffer", () => {
  const text = "0123456789abcdef".repeat(40_000);
  expect(readKernelFile({ path: fileWith("long", text), bytesMax: 1024 * 1024 })).toEqual(found(text));
});

test("a short read after a long one holds nothing of the long one", () => {
  readKernelFile({ path: fileWith("long", "x".repeat(60_000)), bytesMax: 64_000 });
  expect(readKernelFile({ path: fileWith("short", "max\n"), bytesMax: 64_000 })).toEqual(found("max\n"));
});

test("a file of exactly the cap is read, one byte more fails", () => {
  expect(readKernelFile({ path: fileWith("exact", "12345"), bytesMax: 5 })).toEqual(found("12345"));
  expect(readKernelFile({ path: fileWith("more", "123456"), bytesMax: 5 })).toEqual(failed("longer than 5 bytes"));
});

test("where the head is enough, a longer file gives its whole first lines", () => {
  const path = fileWith("lines", "one\ntwo\nthree\n");
  expect(readKernelFile({ path, bytesMax: 10, isHeadEnough: true })).toEqual(found("one\ntwo\n"));
});

test("a file that does not exist is none, unless it must exist", () => {
  const path = join(folder, "absent");
  expect(readKernelFile({ path, bytesMax: 10 })).toEqual(none("open ENOENT"));
  expect(readKernelFile({ path, bytesMax: 10, mustExist: true })).toEqual(failed("open ENOENT"));
});

test("a cgroup that is removed while its file is open is none", () => {
  const gone = Object.assign(new Error("ENODEV: no such device, read"), { code: "ENODEV", syscall: "read" });
  expect(outcomeOfError(gone)).toEqual(none("read ENODEV"));
});

test("another error of the system fails, a bug is thrown", () => {
  mkdirSync(join(folder, "directory"));
  expect(readKernelFile({ path: join(folder, "directory"), bytesMax: 10 })).toEqual(failed("read EISDIR"));
  expect(() => outcomeOfError(new TypeError("a bug"))).toThrow("a bug");
  expect(() => readKernelFile({ path: "nul\0byte", bytesMax: 10 })).toThrow(TypeError);
});

test("a FIFO in place of a file does not block", () => {
  const path = join(folder, "fifo");
  execFileSync("mkfifo", [path]);
  expect(readKernelFile({ path, bytesMax: 10 })).toEqual(found(""));
});

test("what does not parse names its file", () => {
  const path = fileWith("pids.max", "lots\n");
  expect(readAndParse({ path, bytesMax: 10 }, () => failed("not a count"))).toEqual(failed("pids.max: not a count"));
});
