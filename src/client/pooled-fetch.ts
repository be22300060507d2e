import { Agent, request } from "undici";
import type { ClientTls, Fetch } from "./transport.ts";

/**
 * A `fetch` straight on connections of its own, which verifies servers by these authorities and shows them this
 * certificate. For a process that calls a scheduler all the time it is also half as dear as the global one, which builds
 * streams, bodies and headers that nobody looks at. Loaded only where one of the two counts.
 */
export function pooledFetch(tls: ClientTls | null): Fetch {
  const dispatcher = new Agent({ connect: { ...tls } });
  return async (url, { method, headers, body, signal }) => {
    try {
      // A redirect is an answer like any: it is not followed, whatever the caller says of it.
      const answer = await request(url, {
        dispatcher,
        method,
        headers,
        signal,
        ...(body === undefined ? {} : { body }),
      });
      const { statusCode: status } = answer;
      return {
        status,
        ok: status >= 200 && status < 300,
        headers: { get: (name) => [answer.headers[name] ?? []].flat()[0] ?? null },
        text: () => answer.body.text(),
      };
    } catch (thrown) {
      // As the global one does, so that what failed is found in the same place.
      throw new TypeError("the request failed", { cause: thrown });
    }
  };
}
