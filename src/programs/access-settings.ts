import { usualBounds } from "../actors/api/bounds.ts";
import { countBetween } from "../messages/amounts.ts";
import { switchSchema, textNamed } from "../messages/settings.ts";
import { type HostAndPort, isLoopback } from "./address.ts";
import { flagOf, UsageError, type Values } from "./options.ts";

const path = (key: string, help: string) =>
  ({ key, value: "FILE", help, schema: textNamed("a path").nullable().default(null) }) as const;

/** Who is let in to a scheduler. */
export const ACCESS_SETTINGS = {
  tokens: path("tokens", "file of the bearer tokens in force, re-read when it changes; without it nobody is asked"),
  insecure: {
    key: "insecure",
    help: "listen on other addresses than loopback without asking anybody for a token",
    schema: switchSchema.default(false),
  },
  tlsCert: path("tls_cert", "certificate chain of the HTTP and gRPC servers, PEM; re-read when it changes"),
  tlsKey: path("tls_key", "its private key, PEM"),
  tlsClientCa: path("tls_client_ca", "authorities whose certificates clients must show, PEM"),
  connectionsMax: {
    key: "connections_max",
    value: "COUNT",
    help: "connections at a time, of HTTP and of gRPC each; further ones are closed",
    shownDefault: String(usualBounds.connectionsMax),
    schema: countBetween(1, 1_000_000).default(usualBounds.connectionsMax),
  },
} as const;

export type AccessSettings = Values<typeof ACCESS_SETTINGS>;

/** Throws `UsageError` for what would be open to everybody without anyone having said so, and for half of a pair. */
export function checkAccess(settings: AccessSettings, addresses: Readonly<Record<string, HostAndPort | null>>): void {
  const { tlsCert, tlsKey, tlsClientCa, tokens, insecure } = settings;
  if ((tlsCert === null) !== (tlsKey === null)) {
    const [given, missing] = tlsCert === null ? ["--tls-key", "--tls-cert"] : ["--tls-cert", "--tls-key"];
    throw new UsageError(`${given}: needs ${missing} beside it`);
  }
  if (tlsClientCa !== null && tlsCert === null) {
    throw new UsageError("--tls-client-ca: needs --tls-cert and --tls-key beside it");
  }
  if (tokens !== null || insecure) return;
  for (const [key, address] of Object.entries(addresses)) {
    if (address === null || isLoopback(address)) continue;
    throw new UsageError(
      `${flagOf({ key })}: other machines reach ${address.host}, and nobody is asked for a token; give --tokens FILE, or --insecure to let everybody in`,
    );
  }
}
