import { describe, expect, test } from "vitest";
import { formatDuration, parseDuration } from "../../../src/messages/duration.ts";
import { durationBetween, nodeIdSchema, numberFrom, sandboxCgroupSchema } from "../../../src/messages/settings.ts";

describe("durations", () => {
  test.each([
    ["250ms", 250],
    ["5s", 5_000],
    ["1.5s", 1_500],
    ["2m", 120_000],
    ["1h", 3_600_000],
    [" 5s ", 5_000],
  ])("%s is %d ms", (text, ms) => expect(parseDuration(text)).toBe(ms));

  test.each(["", "5", "5 s", "s", "-5s", "5S", "1e3s", "5s5s", "0x5s", ".5s", "Infinitys", `${"9".repeat(400)}h`])(
    "%j is none",
    (text) => expect(parseDuration(text)).toBe(null),
  );

  test.each([
    [120_000, "2m"],
    [90_000, "90s"],
    [1_500, "1500ms"],
    [3_600_000, "1h"],
  ])("%d ms is written %s", (ms, text) => expect(formatDuration(ms)).toBe(text));
});

const messageOf = (schema: typeof nodeIdSchema | ReturnType<typeof numberFrom>, given: unknown) =>
  schema.safeParse(given).error?.issues[0]?.message ?? "accepted";

describe("a setting says how to mend it", () => {
  test.each([
    [durationBetween(100, 300_000), "5", '"5" is not a duration such as 250ms, 5s, 2m or 1h'],
    [durationBetween(100, 300_000), 5, "5 is not a duration such as 250ms, 5s, 2m or 1h"],
    [durationBetween(100, 300_000), "99ms", '"99ms" is not between 100ms and 5m'],
    [durationBetween(100, 300_000), "301s", '"301s" is not between 100ms and 5m'],
    [durationBetween(100, 300_000), "5m", "accepted"],
    [numberFrom(1), "0.99", '"0.99" is not a number of at least 1'],
    [numberFrom(1), "NaN", '"NaN" is not a number of at least 1'],
    [numberFrom(1), "Infinity", '"Infinity" is not a number of at least 1'],
    [numberFrom(1), "", '"" is not a number of at least 1'],
    [numberFrom(1), true, "true is not a number of at least 1"],
    [numberFrom(1), "1.5", "accepted"],
    [nodeIdSchema, "", '"" is not a node id: 1 to 256 printable ASCII characters without blanks'],
    [nodeIdSchema, "a b", '"a b" is not a node id: 1 to 256 printable ASCII characters without blanks'],
    [nodeIdSchema, "n".repeat(256), "accepted"],
    [sandboxCgroupSchema, "/a/../b", '"/a/../b" holds "..": name the cgroup from the mount point down'],
    [sandboxCgroupSchema, "/", '"/" names the root; leave the setting out instead'],
  ])("%#: %s → %s", (schema, given, message) => expect(messageOf(schema as never, given)).toBe(message));

  test("a sandbox cgroup is taken with or without its leading slash", () => {
    expect(sandboxCgroupSchema.parse("/a/b/")).toBe("a/b");
    expect(sandboxCgroupSchema.parse("a//./b")).toBe("a/b");
    expect(sandboxCgroupSchema.parse("a..b/c")).toBe("a..b/c");
  });
});
