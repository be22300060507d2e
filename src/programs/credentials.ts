import { readFileSync } from "node:fs";
import type { ClientTls } from "../client/transport.ts";
import { isBearerToken } from "../messages/bearer-token.ts";
import type { CredentialSettings } from "./credential-settings.ts";
import { UsageError } from "./options.ts";
import { stampOf } from "./watched-files.ts";

/** How a program calls a scheduler. */
export interface Credentials {
  /** The token to send now; null for none. */
  token(): string | null;
  /** Null: the authorities of Node, and no certificate of our own. */
  readonly tls: ClientTls | null;
}

/** Reads the files. Throws `UsageError` when one cannot be used. */
export function openCredentials({ tokenFile, ca, clientCert, clientKey }: CredentialSettings): Credentials {
  if ((clientCert === null) !== (clientKey === null)) {
    const [given, missing] =
      clientCert === null ? ["--client-key", "--client-cert"] : ["--client-cert", "--client-key"];
    throw new UsageError(`${given}: needs ${missing} beside it`);
  }
  const tls: ClientTls = {
    ...(ca === null ? {} : { ca: read("--ca", ca) }),
    ...(clientCert === null ? {} : { cert: read("--client-cert", clientCert) }),
    ...(clientKey === null ? {} : { key: read("--client-key", clientKey) }),
  };
  return {
    token: tokenFile === null ? () => null : tokenIn(tokenFile),
    tls: Object.keys(tls).length === 0 ? null : tls,
  };
}

/** Looks at the file with every call: a stat costs less than the call does, and a rotated token holds at once. */
function tokenIn(path: string): () => string {
  let token = tokenOf(read("--token-file", path), path);
  let seen = stampOf(path);
  return () => {
    const now = stampOf(path);
    if (now === seen) return token;
    try {
      token = tokenOf(readFileSync(path, "utf8"), path);
      seen = now;
    } catch {
      // In the middle of its rotation; the one before is as good as none, or still holds.
    }
    return token;
  };
}

function tokenOf(text: string, path: string): string {
  const token = text.trim();
  if (isBearerToken(token)) return token;
  throw new UsageError(`--token-file: ${path} must hold one token and nothing else`);
}

function read(flag: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (thrown) {
    throw new UsageError(`${flag}: ${(thrown as Error).message}`);
  }
}
