/** Which way a request goes, judged by its method, its path and two headers. */
import type { IncomingHttpHeaders } from "node:http";

/** What a create reserves for: a sandbox described from scratch, or one from a template. */
export type CreateKind = "new_cold_sandbox" | "new_sandbox";

export type Route =
  /** Creates a sandbox: scheduled with a hint, its reservation closed here. */
  | { readonly kind: "create"; readonly create: CreateKind }
  /** Goes to the node of a sandbox that exists. */
  | {
      readonly kind: "sandbox";
      readonly sandboxId: string;
      /** By header: meant for what runs inside the sandbox, and forwarded below the proxy prefix. */
      readonly by: "header" | "path";
      /** Whether a success ends the sandbox. */
      readonly deletes: boolean;
    }
  /** Anything else, such as lists: any node will do, nothing is reserved. */
  | { readonly kind: "any_node" }
  /** Names no sandbox and no path that could be forwarded. */
  | { readonly kind: "malformed"; readonly message: string };

/** In the order in which they are believed. */
export const SANDBOX_ID_HEADERS = ["x-agentenv-sandbox-id", "e2b-sandbox-id"] as const;

const CREATES: Readonly<Record<string, CreateKind>> = {
  "/sandboxes-cold": "new_cold_sandbox",
  "/sandboxes": "new_sandbox",
};

/** What the scheduler takes for a sandbox id. */
const SANDBOX_ID = /^[\x21-\x7e]{1,256}$/;

export function isSandboxId(text: unknown): text is string {
  return typeof text === "string" && SANDBOX_ID.test(text);
}

export interface RoutedRequest {
  readonly method: string;
  /** The request target as it stood on the wire: path and query, percent-encoding and all. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
}

export function routeOf({ method, target, headers }: RoutedRequest): Route {
  if (!target.startsWith("/")) return malformed("the request target must be a path");
  for (const name of SANDBOX_ID_HEADERS) {
    const given = headers[name];
    if (given === undefined) continue;
    if (!isSandboxId(given)) return malformed(`${name} must be 1 to 256 printable ASCII characters without blanks`);
    return { kind: "sandbox", sandboxId: given, by: "header", deletes: false };
  }
  const path = pathOf(target);
  const create = method === "POST" ? CREATES[path] : undefined;
  if (create !== undefined) return { kind: "create", create };
  const [, first, encoded, ...rest] = path.split("/");
  if (first !== "sandboxes" || encoded === undefined || encoded === "") return { kind: "any_node" };
  const sandboxId = decode(encoded);
  if (!isSandboxId(sandboxId)) return malformed("the path names no valid sandbox id");
  return { kind: "sandbox", sandboxId, by: "path", deletes: method === "DELETE" && rest.length === 0 };
}

/** Without the query, and without one slash at the end: runtimes differ in whether they care. */
function pathOf(target: string): string {
  const query = target.indexOf("?");
  const path = query < 0 ? target : target.slice(0, query);
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

function decode(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return null;
  }
}

function malformed(message: string): Route {
  return { kind: "malformed", message };
}
