import { expect, test } from "vitest";
import { byteSize, countBetween, cpuAmount, parseByteSize, share } from "../../../src/messages/amounts.ts";

const GIB = 2 ** 30;

test.each([
  ["4GiB", 4 * GIB],
  ["1.5 GiB", 1.5 * GIB],
  ["512MiB", 512 * 2 ** 20],
  ["2TiB", 2048 * GIB],
  ["1KiB", 1024],
  ["7B", 7],
  ["4", null],
  ["4GB", null],
  ["-1GiB", null],
  ["GiB", null],
  ["99999999TiB", null],
])("the size %s is %s bytes", (text, bytes) => {
  expect(parseByteSize(text)).toBe(bytes);
});

test.each([
  [byteSize(), "0B"],
  [byteSize(), 4096],
  [byteSize(2 ** 20), "1KiB"],
  [countBetween(1, 10), "0"],
  [countBetween(1, 10), "11"],
  [countBetween(1, 10), "1.5"],
  [countBetween(1, 10), ""],
  [countBetween(1, 10), "1e1"],
  [cpuAmount, "0"],
  [cpuAmount, "0.0001"],
  [cpuAmount, "-2"],
  [cpuAmount, undefined],
  [share, "1.01"],
  [share, "-0"],
  [share, null],
])("%#: a wrong amount is refused with what it is not", (schema, given) => {
  expect(schema.safeParse(given).error?.issues[0]?.message).toMatch(/ is not a /);
});

test.each([
  [byteSize(2 ** 20), "3MiB", 3 * 2 ** 20],
  [countBetween(1, 10), "10", 10],
  [countBetween(0, 10), 0, 0],
  [cpuAmount, "0.3", 300],
  [cpuAmount, 192, 192_000],
  [cpuAmount, "1.001", 1001],
  [share, "0.25", 0.25],
  [share, "1", 1],
])("%#: a right amount is taken", (schema, given, amount) => {
  expect(schema.parse(given)).toBe(amount);
});
