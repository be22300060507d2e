import fc from "fast-check";
import { expect, test } from "vitest";
import { formatTime } from "../../../src/messages/http/scalars.ts";

test("times are written as RFC 3339 in UTC with milliseconds, whatever the time", () => {
  expect(formatTime(1_800_000_000_007)).toBe("2027-01-15T08:00:00.007Z");
  expect(formatTime(1_800_000_000_042)).toBe("2027-01-15T08:00:00.042Z");
  fc.assert(
    fc.property(fc.double({ min: -8.64e15, max: 8.64e15, noNaN: true }), (unixMs) => {
      expect(formatTime(unixMs)).toBe(new Date(unixMs).toISOString());
    }),
    { seed: 17_320, numRuns: 2_000 },
  );
  expect(() => formatTime(Number.NaN)).toThrow(RangeError);
});
