import { describe, expect, test } from "vitest";
import { PlacementError } from "../../../src/client/errors.ts";
import { Lease } from "../../../src/client/lease.ts";
import type { Reservation } from "../../../src/client/placement-client.ts";
import { fakeClock, turns } from "../../fakes/clock.ts";

/** The scheduler's wall clock, years away from ours. */
const CREATED_MS = Date.parse("2031-01-01T00:00:00.000Z");

function reservation(leaseMs: number): Reservation {
  return {
    ...{ id: "rs_1", token: "rt_1", state: "pending", managed: true, uncertain: false, late: false },
    ...{ node_id: "node-a", sandbox_id: null, cpu: 2, memory_bytes: 0, reason: null },
    created_at: new Date(CREATED_MS).toISOString(),
    expires_at: new Date(CREATED_MS + leaseMs).toISOString(),
  } as Reservation;
}

/** A lease of 100 s whose renewals end as `renew` says; `askedAtMs` is 0. */
function takeLease(renew: (nth: number, sentAtMs: number) => Promise<Reservation>) {
  const clock = fakeClock();
  const sentAtMs: number[] = [];
  const client = {
    renew: (_token: string) => {
      sentAtMs.push(clock.monotonicMs());
      return renew(sentAtMs.length, clock.monotonicMs());
    },
  };
  const lease = new Lease({ client, clock, token: "rt_1", reservation: reservation(100_000), askedAtMs: 0 });
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
    const { clock, lease, sentAtMs } = takeLease(async (_nth, nowMs) => reservation(nowMs + 100_000));
    await pass(clock, 210);
    expect(sentAtMs).toEqual([50_000, 100_000, 150_000, 200_000]);
    expect(lease.leftMs).toBe(90_000);
  });

  test("runs out once the scheduler grants no more", async () => {
    const { clock, lease, sentAtMs } = takeLease(async (nth) => reservation(nth === 1 ? 120_000 : 120_000));
    await pass(clock, 110);
    // At 50 s until 120 s, at 85 s no longer than that.
    expect(sentAtMs).toEqual([50_000, 85_000]);
    expect(lease.leftMs).toBe(10_000);
    await pass(clock, 20);
    expect(lease.leftMs).toBe(0);
  });

  test("is not renewed again after a refusal", async () => {
    const refusal = new PlacementError({ code: "conflict", message: "the reservation is expired" });
    const { clock, lease, sentAtMs } = takeLease(() => Promise.reject(refusal));
    await pass(clock, 100);
    expect(sentAtMs).toEqual([50_000]);
    expect(lease.leftMs).toBe(0);
  });

  test("is not renewed after its release", async () => {
    const { clock, lease, sentAtMs } = takeLease(async () => reservation(200_000));
    await lease.release();
    await pass(clock, 200);
    expect(sentAtMs).toEqual([]);
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
    answer(reservation(150_000));
    await releasing;
    expect(released).toBe(true);
    expect(clock.pending).toBe(0);
  });
});
