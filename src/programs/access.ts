import { readFileSync } from "node:fs";
import { usualBounds } from "../actors/api/bounds.ts";
import type { Access } from "../actors/api/http-server.ts";
import { Tls, type TlsMaterial } from "../actors/api/tls.ts";
import { type Gate, openGate, parseTokens, TokenGate, type Tokens } from "../actors/api/tokens.ts";
import type { Log } from "../actors/kernel/actor.ts";
import { describeThrown } from "../messages/thrown.ts";
import type { Clock } from "../ports/clock.ts";
import type { AccessSettings } from "./access-settings.ts";
import { UsageError } from "./options.ts";
import { watchFiles } from "./watched-files.ts";

interface Ports {
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Reads tokens and certificates, and goes on reading them when they change. A file that is wrong then is logged, and
 * what held before goes on to hold: half of a write must lock nobody out. Throws `UsageError` when one is wrong now.
 */
export function openAccess(settings: AccessSettings, ports: Ports): Access {
  const bounds = { ...usualBounds, connectionsMax: settings.connectionsMax };
  return { gate: openTokens(settings.tokens, ports), tls: openTls(settings, ports), bounds };
}

function openTokens(path: string | null, { clock, log }: Ports): Gate {
  if (path === null) return openGate;
  const gate = new TokenGate(orUsageError("--tokens", () => readTokens(path)));
  watchFiles([path], clock, () => {
    try {
      gate.use(readTokens(path));
      log.info({ file: path }, `the tokens of ${path} are in force`);
    } catch (thrown) {
      log.error({ file: path }, `the tokens in force stay as they are: ${describeThrown(thrown)}`);
    }
  });
  return gate;
}

function readTokens(path: string): Tokens {
  const parsed = parseTokens(readFileSync(path, "utf8"));
  if (parsed.ok) return parsed.tokens;
  throw new Error(`${path}: ${parsed.message}`);
}

function openTls({ tlsCert, tlsKey, tlsClientCa }: AccessSettings, { clock, log }: Ports): Tls | null {
  if (tlsCert === null || tlsKey === null) return null;
  const read = (): TlsMaterial => ({
    cert: readFileSync(tlsCert),
    key: readFileSync(tlsKey),
    clientCa: tlsClientCa === null ? null : readFileSync(tlsClientCa),
  });
  const tls = orUsageError("--tls-cert", () => new Tls(read()));
  const paths = [tlsCert, tlsKey, ...(tlsClientCa === null ? [] : [tlsClientCa])];
  watchFiles(paths, clock, () => {
    try {
      tls.use(read());
      log.info({ file: tlsCert }, `new connections are shown the certificate of ${tlsCert}`);
    } catch (thrown) {
      // A certificate and its key are two files: between the two writes they do not fit each other.
      log.error({ file: tlsCert }, `the certificate in use stays as it is: ${describeThrown(thrown)}`);
    }
  });
  return tls;
}

function orUsageError<Value>(flag: string, read: () => Value): Value {
  try {
    return read();
  } catch (thrown) {
    throw new UsageError(`${flag}: ${describeThrown(thrown)}`);
  }
}
