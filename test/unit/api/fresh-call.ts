import { type IncomingHttpHeaders, request } from "node:http";
import { request as secureRequest } from "node:https";
import type { TLSSocket } from "node:tls";

export interface FreshCall {
  readonly method?: string;
  readonly path: string;
  /** Sent as it is when it is a string. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** PEM of the authority whose certificates are taken. */
  readonly ca?: string;
}

export interface FreshAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Common name of the certificate that was shown; undefined in plain text. */
  readonly shownName: string | undefined;
}

/** One request on a connection of its own, which reaches any of the threads that listen. Rejects when it is cut. */
export function callFresh(
  url: string,
  { method = "GET", path, body, headers = {}, ca }: FreshCall,
): Promise<FreshAnswer> {
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  const type = body === undefined ? {} : { "content-type": "application/json" };
  const options = { method, agent: false, headers: { ...type, ...headers } } as const;
  return new Promise((resolve, reject) => {
    const sent = url.startsWith("https:")
      ? secureRequest(`${url}${path}`, { ...options, ...(ca === undefined ? {} : { ca }) })
      : request(`${url}${path}`, options);
    sent.on("error", reject);
    sent.on("response", (response) => {
      const shown = "getPeerCertificate" in response.socket ? response.socket : null;
      const shownName = (shown as TLSSocket | null)?.getPeerCertificate().subject.CN;
      let received = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        received += chunk;
      });
      response.on("error", reject).on("end", () => {
        const { statusCode: status = 0, headers } = response;
        resolve({
          status,
          headers,
          text: received,
          shownName: shownName === undefined ? undefined : String(shownName),
        });
      });
    });
    sent.end(text);
  });
}

/**
 * So many calls that each of up to three threads answers some: that one of them gets no connection of forty, which the
 * kernel shares out by a hash, has a chance of 1 in 4 million.
 */
export const FOR_ALL_THREADS = 40;

/** The same call so often that every thread answers it. */
export function callAllThreads(url: string, call: FreshCall): Promise<FreshAnswer[]> {
  return Promise.all(Array.from({ length: FOR_ALL_THREADS }, () => callFresh(url, call)));
}
