/**
 * What became of a create, judged by how the node's answer ended. The one question is whether a sandbox can exist:
 * certainly, certainly not, or nobody knows. Only what certainly does not exist may be created again elsewhere.
 */

export type NodeEnd =
  | {
      readonly kind: "answered";
      readonly status: number;
      /** Whether a proxy between us and the runtime wrote the answer. */
      readonly byProxy: boolean;
    }
  /** Not a byte left: the endpoint is unusable, or no connection came about. */
  | { readonly kind: "unsent" }
  /** The request left and no answer came. */
  | { readonly kind: "lost"; readonly why: LostWhy };

export type LostWhy = "timeout" | "reset" | "client_gone" | "shutdown";

export type Verdict =
  | { readonly kind: "created" }
  /** `reason` is the cancel's: `refused` and `failed` count towards the node's demotion, `client_error` does not. */
  | {
      readonly kind: "definite";
      readonly reason: "refused" | "failed" | "client_error";
      readonly triedElsewhere: boolean;
    }
  | Ambiguous;

export interface Ambiguous {
  readonly kind: "ambiguous";
  /** Of the mark. */
  readonly reason: string;
  /** Null: there is nobody left to answer. */
  readonly clientStatus: 502 | 503 | 504 | null;
}

const CREATED: Verdict = { kind: "created" };
const REFUSED: Verdict = { kind: "definite", reason: "refused", triedElsewhere: true };
const FAILED: Verdict = { kind: "definite", reason: "failed", triedElsewhere: false };
const CLIENT_ERROR: Verdict = { kind: "definite", reason: "client_error", triedElsewhere: false };

/** An answer that did not come, or broke off before it named the sandbox. */
export const LOST: Readonly<Record<LostWhy, Ambiguous>> = {
  timeout: { kind: "ambiguous", reason: "timeout", clientStatus: 504 },
  reset: { kind: "ambiguous", reason: "reset", clientStatus: 502 },
  client_gone: { kind: "ambiguous", reason: "client_gone", clientStatus: null },
  shutdown: { kind: "ambiguous", reason: "shutdown", clientStatus: 503 },
};

/** Statuses that mean something else than their class. 499 is nginx's: its client, which is us, has gone. */
const BY_STATUS: Readonly<Record<number, Verdict>> = {
  408: { kind: "ambiguous", reason: "status_408", clientStatus: 504 },
  429: REFUSED,
  499: { kind: "ambiguous", reason: "status_499", clientStatus: 502 },
  502: { kind: "ambiguous", reason: "status_502", clientStatus: 502 },
  503: REFUSED,
  504: { kind: "ambiguous", reason: "status_504", clientStatus: 504 },
};

/** A proxy says 503 also when the runtime behind it went away while it worked. */
const PROXY_503: Verdict = { kind: "ambiguous", reason: "status_503_of_a_proxy", clientStatus: 502 };

export function verdictOn(end: NodeEnd): Verdict {
  switch (end.kind) {
    case "unsent":
      return REFUSED;
    case "lost":
      return LOST[end.why];
    case "answered":
      if (end.status === 503 && end.byProxy) return PROXY_503;
      return BY_STATUS[end.status] ?? byClass(end.status);
    default:
      return end satisfies never;
  }
}

function byClass(status: number): Verdict {
  if (status >= 200 && status < 300) return CREATED;
  // A redirect is an answer of the runtime that created nothing, and not the node's failure.
  return status >= 500 ? FAILED : CLIENT_ERROR;
}

/** Proxies that name themselves in `Server`; a runtime's own server (uvicorn, hyper, …) is none of them. */
const PROXY_SERVER =
  /\b(?:nginx|openresty|tengine|envoy|istio-envoy|haproxy|traefik|varnish|caddy|cloudflare|cloudfront|awselb|apache|squid|litespeed|google frontend|gws|akamaighost|pingora|kong|linkerd)\b/i;

export function isByProxy({ via, server }: { readonly via?: unknown; readonly server?: unknown }): boolean {
  return via !== undefined || [server].flat().some((name) => typeof name === "string" && PROXY_SERVER.test(name));
}
