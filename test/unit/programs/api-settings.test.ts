import { describe, expect, test } from "vitest";
import { httpUrlSchema, switchSchema } from "../../../src/messages/settings.ts";
import { DAEMON_SETTINGS } from "../../../src/programs/daemon-settings.ts";
import { resolveSettings } from "../../../src/programs/options.ts";

describe("the URL of a scheduler", () => {
  test.each([
    ["http://127.0.0.1:7070", "http://127.0.0.1:7070"],
    ["http://scheduler.example:7070/", "http://scheduler.example:7070"],
    ["https://example.org/evenkeel/", "https://example.org/evenkeel"],
    ["http://[::1]:7070", "http://[::1]:7070"],
  ])("%s is %s", (given, url) => {
    expect(httpUrlSchema.parse(given)).toBe(url);
  });

  test.each(["", "scheduler", "scheduler:7070", "ftp://scheduler", "http://a?b=c", "http://a#b", "http://me@a", 7070])(
    "%j is none",
    (given) => {
      expect(httpUrlSchema.safeParse(given).success).toBe(false);
    },
  );
});

describe("a switch", () => {
  test.each([
    [true, true],
    ["true", true],
    ["1", true],
    [false, false],
    ["false", false],
    ["0", false],
  ])("%j is %j", (given, on) => {
    expect(switchSchema.parse(given)).toBe(on);
  });
  test("is not guessed at", () => {
    expect(switchSchema.safeParse("yes").success).toBe(false);
  });

  const noRuntime = (flags: object, environment: NodeJS.ProcessEnv = {}): boolean =>
    resolveSettings(DAEMON_SETTINGS, { flags: { ...flags }, environment, file: null }).noRuntime;

  test("whose name begins with --no- is what commander calls the opposite", () => {
    // Commander always gives `runtime`: true unless `--no-runtime` was there.
    expect(noRuntime({ runtime: true })).toBe(false);
    expect(noRuntime({ runtime: false })).toBe(true);
    expect(noRuntime({ runtime: true }, { EVENKEEL_NO_RUNTIME: "true" })).toBe(true);
  });
});
