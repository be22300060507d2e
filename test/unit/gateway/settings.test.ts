import { expect, test } from "vitest";
import { GATEWAY_SETTINGS } from "../../../src/programs/gateway-settings.ts";
import { resolveSettings, UsageError } from "../../../src/programs/options.ts";

const resolve = (flags: Record<string, unknown>) =>
  resolveSettings(GATEWAY_SETTINGS, { flags, environment: {}, file: null });

test("what holds when nobody says anything", () => {
  expect(resolve({})).toMatchObject({
    listen: { host: "127.0.0.1", port: 8080 },
    admin: { host: "127.0.0.1", port: 8081 },
    schedulerUrl: "http://127.0.0.1:7070",
    attemptsMax: 3,
    onExpired: "keep",
    proxyPrefix: "/proxy",
    createTimeoutMs: 90_000,
    answerTimeoutMs: 300_000,
    drainMs: 30_000,
    connectionsMax: 10_000,
  });
});

test.each([
  [{ listen: "[::1]:0" }, { listen: { host: "::1", port: 0 } }],
  [{ listen: "gateway.example:443" }, { listen: { host: "gateway.example", port: 443 } }],
  [{ proxyPrefix: "" }, { proxyPrefix: "" }],
  [{ proxyPrefix: "/" }, { proxyPrefix: "" }],
  [{ proxyPrefix: "/in/sandbox/" }, { proxyPrefix: "/in/sandbox" }],
  [{ drain: "0s" }, { drainMs: 0 }],
])("%j", (flags, values) => expect(resolve(flags)).toMatchObject(values));

test.each([
  [{ listen: "8080" }, "--listen"],
  [{ listen: "127.0.0.1:99999" }, "--listen"],
  [{ listen: "user@host:80" }, "--listen"],
  [{ proxyPrefix: "proxy" }, "--proxy-prefix"],
  [{ proxyPrefix: "/a?b" }, "--proxy-prefix"],
  [{ onExpired: "forget" }, "--on-expired"],
  [{ maxAttempts: "0" }, "--max-attempts"],
  [{ createTimeout: "90" }, "--create-timeout"],
])("%j is refused", (flags, named) => {
  expect(() => resolve(flags)).toThrow(UsageError);
  expect(() => resolve(flags)).toThrow(named);
});
