import { expect, test } from "vitest";
import { backoffMs } from "../../../src/actors/kernel/backoff.ts";

test("the wait doubles from 1 s and stays at 60 s", () => {
  expect([1, 2, 3, 4, 5, 6, 7, 8, 1000].map((failures) => backoffMs(failures))).toEqual([
    1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000,
  ]);
});
