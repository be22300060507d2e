/** What a node's answer means, and what it calls the sandbox. */
import type { Readable } from "node:stream";
import { readBeginning, rejoin } from "./body.ts";
import type { NodeAnswer, Sent } from "./node-transport.ts";
import { isByProxy, type NodeEnd, type Verdict, verdictOn } from "./outcome.ts";
import { ANSWER_BYTES_MAX, sandboxIdInBody, sandboxIdInHeaders } from "./sandbox-id.ts";

export type Judged =
  | Exclude<Verdict, { readonly kind: "created" }>
  | { readonly kind: "created"; readonly answer: NodeAnswer };

export function judge(sent: Sent): Judged {
  const verdict = verdictOn(endOf(sent));
  if (verdict.kind !== "created") return verdict;
  if (sent.kind !== "answered") throw new Error("a sandbox was created without an answer");
  return { kind: "created", answer: sent.answer };
}

function endOf(sent: Sent): NodeEnd {
  if (sent.kind !== "answered") return sent;
  const { status, byProxy } = sent.answer;
  return { kind: "answered", status, byProxy: isByProxy(byProxy) };
}

export interface Named {
  /** Null: the answer names none. */
  readonly sandboxId: string | null;
  /** The answer's whole body again. */
  readonly body: Buffer | Readable;
}

/** Null when the answer broke off before its name was read. */
export async function nameOf(answer: NodeAnswer): Promise<Named | null> {
  const inHeaders = sandboxIdInHeaders(answer.headers);
  if (inHeaders !== null) return { sandboxId: inHeaders, body: answer.body };
  const beginning = await readBeginning(answer.body, ANSWER_BYTES_MAX).catch(() => null);
  if (beginning === null) return null;
  const encoding = [answer.headers["content-encoding"] ?? []].flat().join(",");
  const whole = beginning.rest === null;
  return { sandboxId: whole ? sandboxIdInBody(beginning.bytes, encoding) : null, body: rejoin(beginning) };
}
