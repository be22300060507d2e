import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { openAccess } from "../../../src/programs/access.ts";
import { openCredentials } from "../../../src/programs/credentials.ts";
import { resolveSchedulerSettings } from "../../../src/programs/scheduler-settings.ts";
import { createAuthority } from "../../fakes/certificate.ts";
import { fakeClock } from "../../fakes/clock.ts";
import { recordingLog } from "../../fakes/log.ts";

const folder = mkdtempSync(join(tmpdir(), "evenkeel-access-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const fileOf = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

const resolve = (flags: Record<string, string | boolean>) =>
  resolveSchedulerSettings({ flags: { stateDir: "none", ...flags }, environment: {}, file: null });

describe("an address that other machines reach", () => {
  test.each([
    [{ http: "0.0.0.0:7070" }, /^--http: other machines reach 0\.0\.0\.0, .*--tokens FILE, or --insecure/],
    [{ http: "[::]:7070" }, /^--http: /],
    [{ http: "scheduler.example:7070" }, /^--http: /],
    [{ grpc: "10.0.0.1:9090" }, /^--grpc: other machines reach 10\.0\.0\.1, .*--tokens FILE, or --insecure/],
  ])("is refused without tokens: %j", (flags, line) => {
    expect(() => resolve(flags)).toThrow(line);
    expect(() => resolve({ ...flags, insecure: true })).not.toThrow();
    expect(() => resolve({ ...flags, tokens: "/some/file" })).not.toThrow();
  });

  test("and loopback is not", () => {
    expect(() => resolve({ http: "127.0.0.1:0", grpc: "[::1]:0" })).not.toThrow();
  });
});

test.each([
  [{ tlsCert: "/c" }, "--tls-cert: needs --tls-key"],
  [{ tlsKey: "/k" }, "--tls-key: needs --tls-cert"],
  [{ tlsClientCa: "/a" }, "--tls-client-ca: needs --tls-cert and --tls-key"],
])("half of a pair is refused: %j", (flags, message) => {
  expect(() => resolve(flags)).toThrow(message);
});

describe("files", () => {
  const ports = () => ({ clock: fakeClock(), log: recordingLog() });
  const authority = createAuthority("unit");

  test.each([
    ["there is none", { tokens: join(folder, "absent") }, /^--tokens: ENOENT.*absent/],
    ["it is wrong", { tokens: fileOf("wrong", "x y z") }, /^--tokens: .*wrong: line 1: begins with none of/],
    ["they are no PEM", { tlsCert: fileOf("c", "x"), tlsKey: fileOf("k", "y") }, /^--tls-cert: /],
  ])("the start is refused when %s", (_, flags, line) => {
    expect(() => openAccess(resolve(flags), ports())).toThrow(line);
  });

  test("a key of another certificate refuses the start", () => {
    const flags = {
      tlsCert: fileOf("a.crt", authority.issue("a").cert),
      tlsKey: fileOf("b.key", authority.issue("b").key),
    };
    expect(() => openAccess(resolve(flags), ports())).toThrow(/^--tls-cert: /);
  });

  test("tokens are read again within a second of a change; a wrong file changes nothing and is logged", () => {
    const tokens = fileOf("tokens", "client 0123456789abcdef\n");
    const { clock, log } = ports();
    const { gate } = openAccess(resolve({ tokens }), { clock, log });
    const knows = (token: string): boolean => gate.admit(`Bearer ${token}`).ok;

    writeFileSync(tokens, "client fedcba9876543210\n");
    clock.advance(1_000);
    expect([knows("0123456789abcdef"), knows("fedcba9876543210")]).toEqual([false, true]);

    writeFileSync(tokens, "");
    clock.advance(1_000);
    expect(knows("fedcba9876543210")).toBe(true);
    rmSync(tokens);
    clock.advance(1_000);
    expect(knows("fedcba9876543210")).toBe(true);
    const errors = log.lines.filter(({ level }) => level === "error").map(({ text }) => text);
    expect(errors).toEqual([
      expect.stringContaining("the tokens in force stay as they are"),
      expect.stringContaining("ENOENT"),
    ]);
    expect(JSON.stringify(log.lines)).not.toContain("fedcba9876543210");
  });

  test("a caller's token is read again when its file changes, and kept while that is wrong", () => {
    const tokenFile = fileOf("token", "0123456789abcdef\n");
    const { token } = openCredentials({ tokenFile, ca: null, clientCert: null, clientKey: null });
    expect(token()).toBe("0123456789abcdef");
    writeFileSync(tokenFile, "two words\n");
    expect(token()).toBe("0123456789abcdef");
    writeFileSync(tokenFile, "fedcba9876543210");
    expect(token()).toBe("fedcba9876543210");
    rmSync(tokenFile);
    expect(token()).toBe("fedcba9876543210");
  });

  test.each([
    [{ tokenFile: join(folder, "absent") }, /^--token-file: ENOENT/],
    [{ tokenFile: fileOf("two", "a b") }, /^--token-file: .*must hold one token/],
    [{ ca: join(folder, "absent") }, /^--ca: ENOENT/],
    [{ clientCert: "/c" }, /^--client-cert: needs --client-key/],
  ])("wrong credentials of a caller are refused: %j", (given, line) => {
    expect(() => openCredentials({ tokenFile: null, ca: null, clientCert: null, clientKey: null, ...given })).toThrow(
      line,
    );
  });
});
