import { expect, test } from "vitest";
import { formatSpan } from "../../../src/programs/figures.ts";

test.each([
  [-5_000, "0 s"],
  [0, "0 s"],
  [1_499, "1 s"],
  [59_499, "59 s"],
  [59_500, "1 min"],
  [125_000, "2 min 5 s"],
  [3_599_000, "59 min 59 s"],
  [3_600_000, "1 h"],
  [7_620_000, "2 h 7 min"],
  [90_000_000, "25 h"],
])("a span of %i ms reads %s", (ms, text) => {
  expect(formatSpan(ms)).toBe(text);
});
