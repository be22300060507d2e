import type { Clock } from "../../ports/clock.ts";
import { type Headers, withoutBody } from "./headers.ts";
import type { NodeTransport } from "./node-transport.ts";
import type { NodeAddress } from "./scheduler.ts";
import { waitAtMost } from "./waiting.ts";

/** The client waits for it, and has waited for the create before. */
const DESTROY_WITHIN_MS = 10_000;

export interface Destruction {
  readonly transport: NodeTransport;
  readonly clock: Clock;
  readonly node: NodeAddress;
  readonly sandboxId: string;
  /** Those of the create: whoever may create a sandbox may end it. */
  readonly headers: Headers;
}

/** Ends a sandbox on its node. False when nobody can say that it is gone. */
export async function destroySandbox(destruction: Destruction): Promise<boolean> {
  const { transport, clock, node, sandboxId, headers } = destruction;
  const deadline = waitAtMost({ signal: new AbortController().signal }, DESTROY_WITHIN_MS, clock);
  const sent = await transport.send({
    node,
    method: "DELETE",
    path: `/sandboxes/${encodeURIComponent(sandboxId)}`,
    headers: withoutBody(headers),
    body: null,
    signal: deadline.signal,
  });
  deadline.lift();
  if (sent.kind !== "answered") return false;
  const { status } = sent.answer;
  sent.answer.discard();
  return (status >= 200 && status < 300) || status === 404;
}
