import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import type { PlacementCalls, Reservation, ScheduleAnswer } from "../../../src/client/calls.ts";
import { PlacementError } from "../../../src/client/errors.ts";
import { type PlaceOptions, place } from "../../../src/client/place.ts";
import { fakeClock, turns } from "../../fakes/clock.ts";
import { pendingReservation } from "./pending-reservation.ts";

const NODE = { node_id: "node-a", endpoint: "http://node-a.example:8000" };
const REQUEST = { hint: { new_cold_sandbox: { cpu_count: 2 } } };
/** How long an abort waits for the answer to a schedule. */
const GRACE_MS = 3_000;

/** A scheduler whose answers the test gives, and what was said to it. */
function start(options: PlaceOptions, made: Partial<Reservation> = {}) {
  const clock = fakeClock();
  const said: string[] = [];
  const scheduled = Promise.withResolvers<ScheduleAnswer>();
  const renewed = Promise.withResolvers<void>();
  const confirmWithinMs: unknown[] = [];
  const reservation = pendingReservation(120_000, made);
  const client: PlacementCalls = {
    schedule(_request, { signal } = {}) {
      said.push("schedule");
      signal?.addEventListener("abort", () => {
        said.push("cut");
        scheduled.reject(new PlacementError({ code: "aborted", message: "cut" }));
      });
      return scheduled.promise;
    },
    async confirm(_token, sandboxId, { withinMs } = {}) {
      said.push(`confirm ${sandboxId}`);
      confirmWithinMs.push(withinMs);
      return reservation;
    },
    async cancel(_token, reason) {
      said.push(`cancel ${reason}`);
      return reservation;
    },
    async renew() {
      said.push("renew");
      await renewed.promise;
      return reservation;
    },
    async uncertain(_token, reason) {
      said.push(`uncertain ${reason}`);
      return reservation;
    },
  };
  const create = (): Promise<string> => {
    said.push("create");
    return new Promise(() => undefined);
  };
  const outcome = place({ client, clock, request: REQUEST, create, options }).catch((thrown: unknown) => thrown);
  const answer = (): void => scheduled.resolve({ node: NODE, reservation });
  return { clock, said, scheduled, renewed, answer, outcome };
}

describe("an abort", () => {
  const reason = new Error("the tab was closed");

  test("before anything was said: nothing is", async () => {
    const { said, outcome } = start({ signal: AbortSignal.abort(reason) });
    expect(await outcome).toMatchObject({ code: "aborted", cause: reason, reservation: null });
    expect(said).toEqual([]);
  });

  test("while the schedule is under way: what its late answer reserved is cancelled", async () => {
    const abort = new AbortController();
    const { clock, said, answer, outcome } = start({ signal: abort.signal });
    await turns();
    abort.abort(reason);
    clock.advance(GRACE_MS - 1);
    answer();
    expect(await outcome).toMatchObject({ code: "aborted", cause: reason, node: NODE, reservation: { id: "rs_1" } });
    expect(said).toEqual(["schedule", "cancel client_gone"]);
    expect(clock.pending).toBe(0);
  });

  test("while the schedule is under way, and no answer comes: the call is cut after 3 s", async () => {
    const abort = new AbortController();
    const { clock, said, outcome } = start({ signal: abort.signal });
    await turns();
    abort.abort(reason);
    clock.advance(GRACE_MS - 1);
    await turns();
    expect(said).toEqual(["schedule"]);
    clock.advance(1);
    expect(await outcome).toMatchObject({ code: "aborted", cause: reason, reservation: null });
    expect(said).toEqual(["schedule", "cut"]);
    expect(clock.pending).toBe(0);
  });

  test("while an uncertain reservation is taken back: it is cancelled, and no create begins", async () => {
    const abort = new AbortController();
    const { clock, said, renewed, answer, outcome } = start({ signal: abort.signal }, { uncertain: true });
    answer();
    await turns();
    expect(said).toEqual(["schedule", "renew"]);
    abort.abort(reason);
    renewed.resolve();
    expect(await outcome).toMatchObject({ code: "aborted", cause: reason, reservation: { id: "rs_1" } });
    expect(said).toEqual(["schedule", "renew", "cancel client_gone"]);
    expect(clock.pending).toBe(0);
  });

  test("is not seen in a failure when nobody aborted", async () => {
    const { scheduled, outcome } = start({});
    scheduled.reject(new PlacementError({ code: "unreachable", message: "no route" }));
    expect(await outcome).toMatchObject({ code: "unreachable", message: "no route" });
  });
});

test("an error that is logged shows what it knows, and no token", async () => {
  const { answer, outcome } = start({}, { state: "expired", token: "rt_secret" });
  answer();
  const error = await outcome;
  expect(error).toMatchObject({ code: "expired", reservation: { token: "rt_secret" } });
  expect(inspect(error)).toMatch(/node_id: 'node-a'/);
  expect(inspect(error) + JSON.stringify(error)).not.toContain("rt_secret");
});

test("a create that never ends is left when its lease, which is not renewed, is over", async () => {
  const { clock, said, renewed, answer, outcome } = start({});
  answer();
  await turns();
  renewed.reject(new PlacementError({ code: "conflict", message: "no more" }));
  clock.advance(120_000);
  await turns();
  clock.advance(1_000);
  expect(await outcome).toMatchObject({ code: "uncertain", message: expect.stringContaining("lease") });
  expect(said).toEqual(["schedule", "create", "renew", "uncertain timeout"]);
  expect(clock.pending).toBe(0);
});
