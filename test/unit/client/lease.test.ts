import { describe, expect, test } from "vitest";
import type { Reservation } from "../../../src/client/calls.ts";
import { PlacementError } from "../../../src/client/errors.ts";
import { Lease } from "../../../src/client/lease.ts";
import { fakeClock, turns } from "../../fakes/clock.ts";
import { pendingReservation } from "./pending-reservation.ts";

/** A lease of 100 s whose renewals end as `renew` says; `askedAtMs` is 0. */
function takeLease(
  renew: (nth: number, sentAtMs: number) => Promise<Reservation>,
  { answeredAtMs = 0 }: { answeredAtMs?: number } = {},
) {
  const clock = fakeClock();
  clock.advance(answeredAtMs);
  const sentAtMs: number[] = [];
  const client = {
    renew: (_token: string) => {
      sentAtMs.push(clock.monotonicMs());
      return renew(sentAtMs.length, clock.monotonicMs());
    },
  };
  const lease = new Lease({ client, clock, token: "rt_1", reservation: pendingReservation(100_000), askedAtMs: 0 });
  return { clock, lease, sentAtMs };
}

async function pass(clock: ReturnType<typeof fakeClock>, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    clock.advance(1_000);
    await turns(1);
  }
}

describe("a lease", () => {
  test("is renewed at half of what is left, each time", async () => {
    const { clock, lease, sentAtMs } = takeLease(async (_nth, nowMs) => pendingReservation(nowMs + 100_000));
    await pass(clock, 210);
    expect(sentAtMs).toEqual([50_000, 100_000, 150_000, 200_000]);
    expect(lease.leftMs).toBe(90_000);
  });

  test("runs out once the scheduler grants no more", async () => {
    const { clock, lease, sentAtMs } = takeLease(async (_nth, nowMs) =>
      // As one whose greatest age is 120 s.
      pendingReservation(Math.min(nowMs + 100_000, 120_000)),
    );
    await pass(clock, 119);
    // At 50 s until 120 s, at 85 s no longer than that.
    expect(sentAtMs).toEqual([50_000, 85_000]);
    expect(lease.leftMs).toBe(1_000);
    expect(lease.over.aborted).toBe(false);
    await pass(clock, 1);
    expect(lease.leftMs).toBe(0);
    expect(lease.over.aborted).toBe(true);
    expect(clock.pending).toBe(0);
  });

  test("is not renewed again after a refusal", async () => {
    const refusal = new PlacementError({ code: "conflict", message: "the reservation is expired" });
    const { clock, lease, sentAtMs } = takeLease(() => Promise.reject(refusal));
    await pass(clock, 100);
    expect(sentAtMs).toEqual([50_000]);
    expect(lease.leftMs).toBe(0);
    expect(lease.over.aborted).toBe(true);
  });

  test("is not over before it certainly is, though the answer took longer than it, and is renewed without haste", async () => {
    const { clock, lease, sentAtMs } = takeLease(async (_nth, nowMs) => pendingReservation(nowMs - 150_000 + 100_000), {
      answeredAtMs: 150_000,
    });
    await pass(clock, 1);
    // It may have been made at any time of the 150 s: nothing may be left, or all of it.
    expect([lease.leftMs, lease.over.aborted]).toEqual([0, false]);
    await pass(clock, 39);
    expect(sentAtMs).toEqual([160_000, 170_000, 180_000, 190_000]);
    await lease.release();
  });

  test("is not renewed after its release", async () => {
    const { clock, lease, sentAtMs } = takeLease(async () => pendingReservation(200_000));
    await lease.release();
    await pass(clock, 200);
    expect(sentAtMs).toEqual([]);
    expect(lease.over.aborted).toBe(false);
    expect(clock.pending).toBe(0);
  });

  test("is released only when no renewal is under way any more: a late one would take back what is said next", async () => {
    let answer = (_reservation: Reservation): void => undefined;
    const { clock, lease } = takeLease(() => new Promise((resolve) => (answer = resolve)));
    await pass(clock, 50);
    let released = false;
    const releasing = lease.release().then(() => {
      released = true;
    });
    await turns();
    expect(released).toBe(false);
    answer(pendingReservation(150_000));
    await releasing;
    expect(released).toBe(true);
    expect(clock.pending).toBe(0);
  });
});
