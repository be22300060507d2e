import { Agent, fetch } from "undici";
import type { ClientTls, Fetch } from "./transport.ts";

/** A `fetch` that verifies servers by these authorities, and shows them this certificate. Loaded only where one is set. */
export function secureFetch({ ca, cert, key }: ClientTls): Fetch {
  const connect = {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
  // The dispatcher and the fetch have to be of one version of undici, and Node's own is another.
  const dispatcher = new Agent({ connect });
  return (url, init) => fetch(url, { ...init, dispatcher });
}
