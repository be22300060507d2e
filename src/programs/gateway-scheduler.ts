/** The gateway's scheduler, over its HTTP API. */
import type { Answered, Failure, Patience, Scheduler } from "../actors/gateway/scheduler.ts";
import type { NodeAddress } from "../client/calls.ts";
import { PlacementError } from "../client/errors.ts";
import { Lease } from "../client/lease.ts";
import { PlacementClient } from "../client/placement-client.ts";
import { pooledFetch } from "../client/pooled-fetch.ts";
import { repeat } from "../client/repeat.ts";
import { type Call, callApi, parseAnswer } from "../client/transport.ts";
import { ENDPOINTS } from "../messages/http/endpoints.ts";
import type { Clock } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import type { Credentials } from "./credentials.ts";

/** How long a client is kept waiting for one try of a call that closes its reservation. */
const ONE_TRY_WITHIN_MS = 2_000;
/** A look-up keeps a client waiting that would rather hear soon that it has to come back. */
const LOOKUP_WITHIN_MS = 5_000;
/** Kept connections may have been dropped on the way without a word, which the next call on each is the first to notice. */
const LOOKUP_REPEATED_FOR_MS = 1_000;

export interface HttpSchedulerOptions {
  /** Base URL, without a slash at its end. */
  readonly url: string;
  /** The gateway's own; those of its clients are for the nodes. */
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly random: Random;
}

export function createHttpScheduler({ url, credentials, clock, random }: HttpSchedulerOptions): Scheduler {
  const fetch = pooledFetch(credentials.tls);
  const token = (): string | null => credentials.token();
  const common = { url, clock, random, token, fetch };
  const patient = new PlacementClient(common);
  const hasty = new PlacementClient({ ...common, tryWithinMs: ONE_TRY_WITHIN_MS, withinMs: 0 });
  /** The client that goes with a patience, and its options. */
  const at = ({ repeatForMs }: Patience): [PlacementClient, { withinMs: number }] =>
    repeatForMs === 0 ? [hasty, { withinMs: 0 }] : [patient, { withinMs: repeatForMs }];
  const call = (to: Omit<Call, "withinMs">, withinMs: number): Promise<unknown> =>
    callApi({ url, clock, token, fetch }, { ...to, withinMs });

  return {
    reserve: ({ hint, excludeNodeIds }) =>
      answered(async () => {
        const askedAtMs = clock.monotonicMs();
        const excluded = excludeNodeIds.length === 0 ? {} : { exclude_node_ids: [...excludeNodeIds] };
        const { node, reservation } = await patient.schedule({ hint, ...excluded });
        const token = reservation?.token ?? null;
        if (reservation === null || token === null) throw noReservation(url);
        const lease = new Lease({ client: patient, clock, token, reservation, askedAtMs });
        return {
          node: addressOf(node),
          token,
          reservationId: reservation.id,
          get leftMs() {
            return lease.leftMs;
          },
          release: () => lease.release(),
        };
      }),
    pick: () => answered(async () => addressOf((await patient.schedule({})).node)),
    lookup: (sandboxId) =>
      answered(async () => {
        const once = (): Promise<unknown> => call({ method: "GET", path: sandboxPath(sandboxId) }, LOOKUP_WITHIN_MS);
        const answer = await repeat(once, { clock, random, withinMs: LOOKUP_REPEATED_FOR_MS });
        return addressOf(parseAnswer(ENDPOINTS.lookupSandbox.answer, answer, url).node);
      }),
    confirm: (token, { sandboxId, force }, patience) =>
      answered(async () => {
        const [client, options] = at(patience);
        await client.confirm(token, sandboxId, force ? { ...options, force } : options);
        return null;
      }),
    cancel: (token, reason, patience) =>
      answered(async () => {
        const [client, options] = at(patience);
        await client.cancel(token, reason, options);
        return null;
      }),
    uncertain: (token, reason, patience) =>
      answered(async () => {
        const [client, options] = at(patience);
        await client.uncertain(token, reason, options);
        return null;
      }),
    recordAssignment: (sandboxId, { nodeId, endpoint }, { repeatForMs }) =>
      answered(async () => {
        const path = `${sandboxPath(sandboxId)}/assignment`;
        const once = (): Promise<unknown> =>
          call({ method: "POST", path, body: { node_id: nodeId, endpoint } }, ONE_TRY_WITHIN_MS);
        await repeat(once, { clock, random, withinMs: repeatForMs });
        return null;
      }),
    releaseSandbox: (sandboxId, { repeatForMs }) =>
      answered(async () => {
        const once = (): Promise<unknown> =>
          call({ method: "DELETE", path: sandboxPath(sandboxId) }, ONE_TRY_WITHIN_MS);
        await repeat(once, { clock, random, withinMs: repeatForMs });
        return null;
      }),
  };
}

async function answered<T>(run: () => Promise<T>): Promise<Answered<T>> {
  try {
    return { ok: true, value: await run() };
  } catch (thrown) {
    if (!(thrown instanceof PlacementError)) throw thrown;
    return { ok: false, failure: failureOf(thrown) };
  }
}

function failureOf({ code, message, details, status, repeatable }: PlacementError): Failure {
  return { code, message, details, status, repeatable };
}

function addressOf({ node_id, endpoint }: NodeAddress): { nodeId: string; endpoint: string | null } {
  return { nodeId: node_id, endpoint };
}

function sandboxPath(sandboxId: string): string {
  return `/v1/sandboxes/${encodeURIComponent(sandboxId)}`;
}

function noReservation(url: string): PlacementError {
  const message = `the scheduler at ${url} gave no reservation for a create`;
  return new PlacementError({ code: "unexpected_answer", message });
}
