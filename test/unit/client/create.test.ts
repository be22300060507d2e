import { expect, test } from "vitest";
import { type CreateEnd, runCreate } from "../../../src/client/create.ts";
import { CreateRefused } from "../../../src/client/errors.ts";
import { fakeClock, turns } from "../../fakes/clock.ts";
import { pendingReservation } from "./pending-reservation.ts";

const NODE = { node_id: "node-a", endpoint: "http://node-a.example:8000" };
/** How long a create that was told to end is listened to. */
const SETTLE_MS = 1_000;

/** Runs a create that never ends by itself, and notes the reason that its signal was aborted for. */
function start({ createWithinMs, signal }: { createWithinMs?: number; signal?: AbortSignal } = {}) {
  const clock = fakeClock();
  const leaseOver = new AbortController();
  const told: unknown[] = [];
  let end: CreateEnd | null = null;
  let begun = 0;
  const settle = Promise.withResolvers<string>();
  const running = runCreate(
    (_node, context) => {
      begun += 1;
      context.signal.addEventListener("abort", () => told.push(context.signal.reason));
      return settle.promise;
    },
    {
      node: NODE,
      reservation: pendingReservation(100_000),
      signal,
      createWithinMs,
      leaseOver: leaseOver.signal,
      clock,
    },
  ).then((result) => {
    end = result;
  });
  const ended = async (): Promise<CreateEnd | null> => {
    await turns();
    return end;
  };
  return { clock, leaseOver, told, ended, running, settle, begun: () => begun };
}

test("a caller that has gone already has nothing created", async () => {
  const reason = new Error("the tab was closed");
  const { clock, ended, begun } = start({ signal: AbortSignal.abort(reason) });
  expect(await ended()).toEqual({ kind: "aborted", error: reason });
  expect(begun()).toBe(0);
  expect(clock.pending).toBe(0);
});

test("a create without a time of its own is told to end when its lease is over, and left a second later", async () => {
  const { clock, leaseOver, told, ended } = start();
  clock.advance(10_000_000);
  expect([await ended(), told]).toEqual([null, []]);
  leaseOver.abort(new Error("the lease was over"));
  expect(told).toEqual([new Error("the lease was over")]);
  clock.advance(SETTLE_MS - 1);
  expect(await ended()).toBe(null);
  clock.advance(1);
  expect(await ended()).toEqual({ kind: "uncertain", why: "timeout", error: new Error("the lease was over") });
  expect(clock.pending).toBe(0);
});

test("one with a time of its own is not told of its lease: it may be confirmed late", async () => {
  const { clock, leaseOver, told, ended } = start({ createWithinMs: 5_000 });
  leaseOver.abort();
  clock.advance(4_999);
  expect([await ended(), told]).toEqual([null, []]);
  clock.advance(1);
  expect(told).toEqual([new Error("the create took longer than 5000 ms")]);
  clock.advance(SETTLE_MS);
  expect(await ended()).toMatchObject({ kind: "uncertain", why: "timeout" });
});

test("an abort while it runs reaches the create with its reason, and what the create says then holds", async () => {
  const abort = new AbortController();
  const { clock, told, ended, settle } = start({ signal: abort.signal });
  await turns();
  const reason = new Error("the tab was closed");
  abort.abort(reason);
  expect(told).toEqual([reason]);
  const refusal = new CreateRefused("not sent yet");
  settle.reject(refusal);
  expect(await ended()).toEqual({ kind: "refused", error: refusal });
  expect(clock.pending).toBe(0);
});
