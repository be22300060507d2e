/** Headers on their way through: what ends at each hop goes, what tells of the client is added, all else stays. */
import type { OutgoingHttpHeaders } from "node:http";

/** Lower-case names; several lines of one name stay several. */
export type Headers = Record<string, string | string[]>;

/** RFC 9110, 7.6.1, with those that RFC 2616, 13.5.1, names beside it. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

export interface Client {
  /** Null when it is not known any more, because the connection is gone. */
  readonly address: string | null;
  readonly encrypted: boolean;
}

/**
 * What a node is sent, from the header lines of the request (`rawHeaders`: name, value, name, value). The client's own
 * `Host` stays, and its credentials. `Expect` has been answered here.
 */
export function headersForNode(rawHeaders: readonly string[], client: Client): Headers {
  const headers = endToEnd(rawHeaders);
  delete headers.expect;
  const { host } = headers;
  if (client.address !== null) {
    const before = headers["x-forwarded-for"];
    headers["x-forwarded-for"] = before === undefined ? client.address : [before, client.address].flat().join(", ");
  }
  // A proxy in front of us has seen what the client itself used.
  headers["x-forwarded-proto"] ??= client.encrypted ? "https" : "http";
  if (host !== undefined) headers["x-forwarded-host"] ??= host;
  return headers;
}

/** What a client is sent of a node's answer. */
export function headersForClient(headers: OutgoingHttpHeaders): Headers {
  const kept: Headers = {};
  const named = namedByConnection([headers.connection ?? []].flat().map(String));
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || HOP_BY_HOP.has(name) || named.has(name)) continue;
    kept[name] = Array.isArray(value) ? value : String(value);
  }
  return kept;
}

/** The lines that are not for the next hop only, in their order. */
export function endToEnd(rawHeaders: readonly string[]): Headers {
  const lines = pairsOf(rawHeaders);
  const named = namedByConnection(lines.filter(([name]) => name === "connection").map(([, value]) => value));
  const headers: Headers = {};
  for (const [name, value] of lines) {
    if (HOP_BY_HOP.has(name) || named.has(name)) continue;
    const before = headers[name];
    headers[name] = before === undefined ? value : [before, value].flat();
  }
  return headers;
}

/** The same without what describes a body. */
export function withoutBody(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith("content-")));
}

function pairsOf(rawHeaders: readonly string[]): [name: string, value: string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    pairs.push([(rawHeaders[at] ?? "").toLowerCase(), rawHeaders[at + 1] ?? ""]);
  }
  return pairs;
}

function namedByConnection(values: readonly string[]): ReadonlySet<string> {
  const names = values.flatMap((value) => value.split(",")).map((name) => name.trim().toLowerCase());
  // A client must not be able to take these two from the node's sight.
  return new Set(names.filter((name) => name !== "host" && name !== "content-length"));
}
