/** A node's endpoint, as heartbeats give it: `host:port`, or a base URL. */

export interface Endpoint {
  /** Scheme, host and port, such as `http://10.0.0.7:8080`. */
  readonly origin: string;
  /** What goes before every path, without a slash at its end; mostly empty. */
  readonly prefix: string;
}

/** Null when nothing can be sent there: no endpoint, another scheme, a query, credentials. */
export function parseEndpoint(endpoint: string | null): Endpoint | null {
  if (endpoint === null) return null;
  const url = URL.parse(endpoint.includes("://") ? endpoint : `http://${endpoint}`);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === "") return null;
  if (url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "") return null;
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, "") };
}
