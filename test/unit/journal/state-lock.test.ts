import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeHolder, lockState } from "../../../src/actors/journal/state-lock.ts";

test("a state directory has one holder, who is named, and is free again after him", () => {
  const directory = mkdtempSync(join(tmpdir(), "ek-lock-"));
  const first = lockState(directory, "2026-01-02T03:04:05.000Z");
  expect(first).not.toBe(null);
  expect(lockState(directory, "later")).toBe(null);
  expect(describeHolder(directory)).toMatch(
    new RegExp(`^process ${process.pid} on .+, since 2026-01-02T03:04:05\\.000Z$`),
  );
  first?.release();
  const second = lockState(directory, "later");
  expect(second).not.toBe(null);
  second?.release();
});

test("a holder that left no name is another process", () => {
  expect(describeHolder(mkdtempSync(join(tmpdir(), "ek-lock-")))).toBe("another process");
});
