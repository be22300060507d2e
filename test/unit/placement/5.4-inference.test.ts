import { describe, expect, test } from "vitest";
import { CPU, GIB, type ScheduleOptions, World } from "./world.ts";

const unmanaged = (cpu: number, memoryGib = cpu): ScheduleOptions => ({ cpu, memoryGib, managed: false });

/** The sums of a runtime that created so many sandboxes, with these CPUs and as many GiB allocated. */
function sums(createSuccesses: number, cpu: number, memoryGib = cpu) {
  return {
    createSuccesses,
    allocatedCpuMillicores: cpu * CPU,
    allocatedMemoryBytes: memoryGib * GIB,
    sandboxCount: createSuccesses,
  };
}

function worldWithBaseline(): World {
  const world = new World({ reportTtlMs: 1e9 });
  world.report("a", { ...sums(0, 0), cpuCapacityMillicores: 1000 * CPU, memoryCapacityBytes: 1000 * GIB });
  return world;
}

describe("5.4 CREATE", () => {
  test("binds the oldest of exactly that shape, and counts as its confirm", () => {
    const world = worldWithBaseline();
    const other = world.reserve(unmanaged(2));
    const oldest = world.reserve(unmanaged(1));
    const younger = world.reserve(unmanaged(1));
    world.event("a", "CREATE", "s1", { cpu: 1, memoryGib: 1 });
    expect([other, oldest, younger].map((each) => world.state(each))).toEqual(["pending", "confirmed", "pending"]);
    expect(world.get(oldest).sandboxId).toBe("s1");
  });

  test("an exact shape goes before one with an unknown dimension, which is filled in", () => {
    const world = worldWithBaseline();
    const open = world.reserve({ ...unmanaged(1), memoryBytes: null });
    const exact = world.reserve(unmanaged(1));
    world.event("a", "CREATE", "s1");
    expect(world.state(exact)).toBe("confirmed");
    expect(world.get(open)).toMatchObject({ state: "pending", memoryBytes: 0 });
    world.event("a", "CREATE", "s2", { cpu: 1, memoryGib: 7 });
    expect(world.get(open)).toMatchObject({ state: "confirmed", memoryBytes: 7 * GIB });
    world.event("a", "CREATE", "s3", { cpu: 3 });
    expect(world.node("a").reservations).toEqual({ pending: 0, confirmed: 2 });
  });

  test("exact goes before open, and older before younger, whichever was touched last", () => {
    const world = worldWithBaseline();
    const open = world.reserve({ ...unmanaged(1), memoryBytes: null });
    const exact = world.reserve(unmanaged(1));
    const younger = world.reserve(unmanaged(1));
    world.renew(exact);
    world.renew(open);
    world.event("a", "CREATE", "s1");
    expect([open, exact, younger].map((each) => world.state(each))).toEqual(["pending", "confirmed", "pending"]);
  });

  test("a FORK that names a bound id changes nothing", () => {
    const world = worldWithBaseline();
    const mine = world.confirm(world.reserve(), "s1");
    const count = world.events.length;
    world.event("a", "FORK", "s1");
    expect(world.events.length).toBe(count);
    expect(world.ask({ type: "confirm", handle: mine.id, sandboxId: "s1", force: false }).repeated).toBe(true);
  });

  test("an unknown CPU is filled in too, and a known one stays as asked", () => {
    const world = worldWithBaseline();
    const open = world.reserve({ ...unmanaged(1), cpuMillicores: null });
    world.event("a", "CREATE", "s1", { cpu: 5, memoryGib: 1 });
    expect(world.get(open)).toMatchObject({ state: "confirmed", cpuMillicores: 5 * CPU, memoryBytes: GIB });
  });

  test("managed ones only when uncertain, and only of that node", () => {
    const world = worldWithBaseline();
    world.report("b");
    const managed = world.reserve({ excludeNodeIds: ["b"] });
    const elsewhere = world.reserve({ ...unmanaged(1), excludeNodeIds: ["a"] });
    world.event("a", "CREATE", "s1");
    expect([world.state(managed), world.state(elsewhere)]).toEqual(["pending", "pending"]);
    world.uncertain(managed);
    world.event("a", "CREATE", "s2");
    expect(world.state(managed)).toBe("confirmed");
  });

  test("an id that was bound before, or that a FORK or DELETE named, binds nothing", () => {
    const world = worldWithBaseline();
    world.confirm(world.reserve(), "bound");
    world.event("a", "FORK", "forked");
    world.event("a", "DELETE", "deleted");
    const waiting = world.reserve(unmanaged(1));
    for (const sandboxId of ["bound", "forked", "deleted"]) world.event("a", "CREATE", sandboxId);
    expect(world.state(waiting)).toBe("pending");
  });

  test("an id that a roster listed before the reservation was made binds nothing, gone from the roster or not", () => {
    const world = worldWithBaseline();
    world.report("a", sums(2, 2), { sandboxIds: ["s1", "s2"] });
    world.report("a", sums(2, 1), { sandboxIds: ["s2"] });
    const waiting = world.reserve(unmanaged(1));
    world.event("a", "CREATE", "s1");
    world.event("a", "CREATE", "s2");
    expect(world.state(waiting)).toBe("pending");
  });

  test("an id in the roster of a report that acknowledged by aggregates binds nothing", () => {
    const world = worldWithBaseline();
    const acknowledged = world.reserve(unmanaged(1));
    const waiting = world.reserve(unmanaged(1));
    world.report("a", sums(1, 1), { sandboxIds: ["s1"] });
    expect(world.state(acknowledged)).toBe("settled");
    world.event("a", "CREATE", "s1");
    expect(world.state(waiting)).toBe("pending");
  });

  test("a confirm by token takes an inferred binding over, the other is pending again with its charge and lease", () => {
    const world = worldWithBaseline();
    const guessed = world.reserve({ ...unmanaged(1), memoryBytes: null });
    const right = world.reserve({ cpu: 1, memoryGib: 4 });
    world.event("a", "CREATE", "s1", { cpu: 1, memoryGib: 4 });
    expect(world.state(guessed)).toBe("confirmed");
    expect(world.confirm(right, "s1").state).toBe("confirmed");
    expect(world.get(guessed)).toMatchObject({ state: "pending", sandboxId: null, memoryBytes: 0 });
    expect(world.get(guessed).expiresAtUnixMs).toBe(guessed.expiresAtUnixMs);
    expect(world.inFlight("a")).toMatchObject({ count: 2, cpuMillicores: 2 * CPU, memoryBytes: 4 * GIB });
    // A binding by token is final.
    expect(world.confirmRefusal(world.reserve(), "s1").code).toBe("conflict");
  });

  test("takeover from settled: the taker is judged by the rosters, the other is charged again", () => {
    const world = worldWithBaseline();
    const guessed = world.reserve(unmanaged(1));
    const right = world.reserve();
    world.event("a", "CREATE", "s1");
    for (let index = 0; index < 2; index++) world.report("a", sums(1, 1), { sandboxIds: ["s1"] });
    expect(world.state(guessed)).toBe("settled");
    expect(world.confirm(right, "s1").state).toBe("settled");
    expect(world.get(guessed)).toMatchObject({ state: "pending", cpuMillicores: CPU });
  });

  test("takeover from released: the taker is released, the other expired if its lease is over", () => {
    const world = worldWithBaseline();
    const guessed = world.reserve(unmanaged(1));
    world.event("a", "CREATE", "s1");
    world.event("a", "DELETE", "s1");
    expect(world.state(guessed)).toBe("released");
    world.pass(60_000);
    const right = world.reserve();
    world.pass(60_000);
    expect(world.confirm(right, "s1")).toMatchObject({ state: "released", reason: "deleted" });
    expect(world.get(guessed)).toMatchObject({ state: "expired", reason: "lease", sandboxId: null });
  });

  test("a confirm by its own token affirms it, with another id replaces it", () => {
    const world = worldWithBaseline();
    const mine = world.uncertain(world.reserve());
    world.event("a", "CREATE", "guess");
    expect(world.get(mine).sandboxId).toBe("guess");
    const confirmed = world.ask({
      type: "confirm",
      handle: mine.token ?? "",
      sandboxId: "true",
      force: false,
    }).reservation;
    expect(confirmed).toMatchObject({ state: "confirmed", sandboxId: "true" });
    const other = world.reserve();
    expect(world.confirm(other, "guess").state).toBe("confirmed");
    const affirmed = world.uncertain(world.reserve());
    world.event("a", "CREATE", "s3");
    expect(world.confirm(affirmed, "s3").state).toBe("confirmed");
    expect(world.confirmRefusal(affirmed, "s4").code).toBe("conflict");
  });

  test("an orphaned inferred binding can still be taken over, and is pending again while its lease runs", () => {
    const world = worldWithBaseline();
    const guessed = world.reserve(unmanaged(1));
    const right = world.reserve();
    world.event("a", "CREATE", "s1");
    world.report("a", sums(1, 0), { sandboxIds: [] });
    world.pass(15_000);
    world.report("a", sums(1, 0), { sandboxIds: [] });
    expect(world.get(guessed)).toMatchObject({ state: "expired", reason: "orphaned" });
    expect(world.confirm(right, "s1").state).toBe("confirmed");
    expect(world.get(guessed)).toMatchObject({ state: "pending", reason: null, sandboxId: null });
  });

  test("a replaced binding starts anew: from released it is charged, and its reason is gone", () => {
    const world = worldWithBaseline();
    const mine = world.uncertain(world.reserve());
    world.event("a", "CREATE", "guess");
    world.event("a", "DELETE", "guess");
    expect(world.get(mine)).toMatchObject({ state: "released", reason: "deleted" });
    expect(world.confirm(mine, "true")).toMatchObject({ state: "confirmed", reason: null, cpuMillicores: CPU });
  });

  test("a taken-back id is remembered: inference binds it no more", () => {
    const world = worldWithBaseline();
    const mine = world.uncertain(world.reserve());
    world.event("a", "CREATE", "guess");
    world.confirm(mine, "true");
    const waiting = world.reserve(unmanaged(1));
    world.event("a", "CREATE", "guess");
    expect(world.state(waiting)).toBe("pending");
  });

  test("a confirm by inference clears a demotion", () => {
    const world = worldWithBaseline();
    for (let index = 0; index < 5; index++) world.cancel(world.reserve(), "failed");
    expect(world.node("a").demoted).toBe(true);
    world.reserve(unmanaged(1));
    world.event("a", "CREATE", "s1");
    expect(world.node("a").demoted).toBe(false);
  });

  test("a cancel of an inferred binding is a conflict", () => {
    const world = worldWithBaseline();
    const mine = world.uncertain(world.reserve());
    world.event("a", "CREATE", "s1");
    expect(world.refusal({ type: "cancel", handle: mine.id, reason: null })).toMatchObject({
      code: "conflict",
      details: { state: "confirmed" },
    });
  });

  test("PAUSE, RESUME and FORK touch no reservation; RecordAssignment binds nothing", () => {
    const world = worldWithBaseline();
    const mine = world.confirm(world.reserve(), "s1");
    const waiting = world.reserve(unmanaged(1));
    for (const type of ["PAUSE", "RESUME", "FORK"] as const) world.event("a", type, "s1");
    world.ask({ type: "record_assignment", sandboxId: "s2", nodeId: "a", endpoint: "http://a:8080" });
    expect([world.state(mine), world.state(waiting)]).toEqual(["confirmed", "pending"]);
  });

  test("events of a superseded instance are ignored", () => {
    const world = worldWithBaseline();
    const waiting = world.reserve(unmanaged(1));
    world.report("a", {}, { instance: "run-2" });
    world.event("a", "CREATE", "s1");
    expect(world.state(waiting)).toBe("pending");
  });
});

describe("5.4 aggregates", () => {
  test("large then small, unmanaged: count of the oldest, CPU and memory of the least; what is to come stays charged", () => {
    const world = worldWithBaseline();
    world.reserve(unmanaged(8));
    world.reserve(unmanaged(1));
    world.report("a", sums(1, 1));
    // One sandbox of 1 CPU is there; 8 CPU and one count are still to come.
    expect(world.inFlight("a")).toEqual({ count: 1, cpuMillicores: 8 * CPU, memoryBytes: 8 * GIB });
    expect(world.node("a").projected.cpuMillicores).toBe(9 * CPU);
    world.report("a", sums(2, 9));
    expect(world.inFlight("a")).toEqual({ count: 0, cpuMillicores: 0, memoryBytes: 0 });
    expect(world.node("a").reservations).toEqual({ pending: 0, confirmed: 0 });
  });

  test("the large one first: its increase covers the small one's amount, the rest is discarded, never carried over", () => {
    const world = worldWithBaseline();
    world.reserve(unmanaged(8));
    world.reserve(unmanaged(1));
    world.report("a", sums(1, 8));
    expect(world.inFlight("a")).toMatchObject({ count: 1, cpuMillicores: 8 * CPU });
    world.report("a", sums(2, 9));
    // The increase of 1 does not cover 8, and nothing is left of the 7.
    expect(world.inFlight("a")).toMatchObject({ count: 0, cpuMillicores: 8 * CPU });
    world.report("a", sums(2, 9));
    expect(world.inFlight("a").cpuMillicores).toBe(8 * CPU);
    // By the second later report the sums contain it whatever the increase was.
    world.report("a", sums(2, 9));
    expect(world.inFlight("a").cpuMillicores).toBe(0);
  });

  test("counts and allocations arrive in separate heartbeats", () => {
    const world = worldWithBaseline();
    const mine = world.reserve(unmanaged(2, 4));
    world.report("a", sums(1, 0, 0));
    expect(world.inFlight("a")).toEqual({ count: 0, cpuMillicores: 2 * CPU, memoryBytes: 4 * GIB });
    world.report("a", sums(1, 2, 0));
    expect(world.inFlight("a")).toEqual({ count: 0, cpuMillicores: 0, memoryBytes: 4 * GIB });
    expect(world.state(mine)).toBe("pending");
    world.report("a", sums(1, 2, 4));
    expect(world.state(mine)).toBe("settled");
  });

  test("an increase without a success gives nothing back, nor does it later", () => {
    const world = worldWithBaseline();
    world.reserve(unmanaged(2));
    world.report("a", sums(0, 50));
    expect(world.inFlight("a").cpuMillicores).toBe(2 * CPU);
    world.report("a", sums(1, 50));
    expect(world.inFlight("a")).toMatchObject({ count: 0, cpuMillicores: 2 * CPU });
  });

  test("create_fails, a growing count and a starting sandbox release nothing", () => {
    const world = worldWithBaseline();
    world.reserve(unmanaged(2));
    for (let index = 1; index < 4; index++)
      world.report("a", { createFails: index, sandboxCount: index, sandboxStartingCount: index });
    expect(world.inFlight("a")).toEqual({ count: 1, cpuMillicores: 2 * CPU, memoryBytes: 2 * GIB });
  });

  test("a surplus with nothing to acknowledge is spent, not kept", () => {
    const world = worldWithBaseline();
    world.report("a", sums(5, 5));
    world.reserve(unmanaged(1));
    world.report("a", sums(5, 5));
    world.report("a", sums(5, 5));
    expect(world.inFlight("a").count).toBe(1);
    world.report("a", sums(6, 6));
    expect(world.inFlight("a").count).toBe(0);
  });

  test("what exceeds the open ones is spent, and no more than that", () => {
    const world = worldWithBaseline();
    world.reserve(unmanaged(1));
    world.report("a", sums(3, 3));
    expect(world.inFlight("a").count).toBe(0);
    world.reserve(unmanaged(1));
    world.report("a", sums(3, 3));
    expect(world.inFlight("a").count).toBe(1);
    world.report("a", sums(4, 4));
    expect(world.inFlight("a").count).toBe(0);
  });

  test("successes are first the managed ones', each once and whatever became of it", () => {
    const world = worldWithBaseline();
    const managed = world.reserve({ cpu: 1, memoryGib: 1 });
    world.reserve(unmanaged(1));
    world.confirm(managed, "s1");
    world.report("a", sums(1, 1));
    expect(world.inFlight("a").count).toBe(2);
    world.pass(1_000);
    world.report("a", sums(2, 2));
    expect(world.inFlight("a").count).toBe(0);
  });

  test("managed ones open at the baseline count, cancelled ones do not", () => {
    const world = worldWithBaseline();
    const managed = world.reserve();
    world.report("a", sums(0, 0), { instance: "run-2" });
    world.reserve(unmanaged(1));
    world.report("a", sums(1, 1), { instance: "run-2" });
    expect(world.inFlight("a").count).toBe(2);
    const other = worldWithBaseline();
    const cancelled = other.reserve();
    other.reserve(unmanaged(1));
    other.cancel(cancelled);
    other.report("a", sums(1, 1));
    expect(other.inFlight("a").count).toBe(0);
    expect(world.state(managed)).toBe("pending");
  });

  test("a report without a success acknowledges nothing, even when a managed one that explained one is cancelled", () => {
    const world = worldWithBaseline();
    const managed = world.reserve();
    world.reserve(unmanaged(1));
    world.report("a", sums(1, 1));
    world.cancel(managed);
    world.report("a", sums(1, 1));
    expect(world.inFlight("a").count).toBe(1);
    world.report("a", sums(2, 2));
    expect(world.inFlight("a").count).toBe(0);
  });

  test("successes count from the baseline", () => {
    const world = worldWithBaseline();
    world.report("a", sums(50, 0), { instance: "run-2" });
    world.reserve();
    world.reserve(unmanaged(1));
    world.report("a", sums(51, 1), { instance: "run-2" });
    expect(world.inFlight("a").count).toBe(2);
  });

  test("a surplus from before cannot pay for a managed one made since", () => {
    const world = worldWithBaseline();
    world.report("a", sums(3, 3));
    world.reserve(unmanaged(1));
    world.reserve();
    world.report("a", sums(4, 4));
    expect(world.inFlight("a").count).toBe(2);
  });

  test("managed amounts come off the increase first", () => {
    const world = worldWithBaseline();
    world.reserve({ cpu: 4, memoryGib: 4 });
    world.reserve(unmanaged(2));
    world.report("a", sums(2, 4));
    // 4 may be the managed one's; 2 are acknowledged, but not covered.
    expect(world.inFlight("a")).toMatchObject({ count: 1, cpuMillicores: 6 * CPU });
    world.report("a", sums(2, 10));
    expect(world.inFlight("a").cpuMillicores).toBe(4 * CPU);
  });

  test("acknowledged amounts are covered smallest first", () => {
    const world = worldWithBaseline();
    for (const cpu of [4, 1, 2]) world.reserve(unmanaged(cpu));
    world.report("a", sums(3, 3));
    expect(world.inFlight("a")).toMatchObject({ count: 0, cpuMillicores: 4 * CPU });
  });

  test("an uncharged amount takes its acknowledgement as 0, first of all", () => {
    const world = worldWithBaseline();
    world.reserve(unmanaged(2));
    world.reserve({ ...unmanaged(1), cpuMillicores: null });
    world.report("a", sums(1, 2));
    expect(world.inFlight("a")).toMatchObject({ count: 1, cpuMillicores: 2 * CPU, memoryBytes: 2 * GIB });
  });

  test("once a CREATE event came in the epoch, nothing is acknowledged", () => {
    const world = worldWithBaseline();
    world.event("a", "CREATE", "foreign", { cpu: 30 });
    world.reserve(unmanaged(1));
    world.report("a", sums(1, 1));
    expect(world.inFlight("a").count).toBe(1);
    world.report("a", sums(0, 0), { instance: "run-2" });
    world.report("a", sums(1, 1), { instance: "run-2" });
    expect(world.inFlight("a").count).toBe(0);
  });

  test("a CREATE event before the first snapshot of its instance counts for that epoch", () => {
    const world = worldWithBaseline();
    const create = { sandboxId: "f", eventType: "CREATE", requestedCpuMillicores: 1, requestedMemoryBytes: 1 } as const;
    world.ask({ type: "sandbox_events", nodeId: "a", serviceInstanceId: "run-2", events: [create] });
    world.reserve(unmanaged(1));
    world.report("a", sums(0, 0), { instance: "run-2" });
    world.report("a", sums(1, 1), { instance: "run-2" });
    expect(world.inFlight("a").count).toBe(1);
  });

  test("an uncertain managed one is not acknowledged by aggregates", () => {
    const world = worldWithBaseline();
    world.uncertain(world.reserve());
    for (let index = 1; index < 4; index++) world.report("a", sums(index, index));
    expect(world.inFlight("a").count).toBe(1);
  });

  test("node restart with reset counters: a new baseline, no difference across it", () => {
    const world = worldWithBaseline();
    world.report("a", sums(7, 7));
    world.reserve(unmanaged(1));
    world.report("a", sums(3, 3));
    expect(world.inFlight("a").count).toBe(1);
    world.report("a", sums(4, 4));
    expect(world.inFlight("a").count).toBe(0);
  });

  test("a lease that ends on one of which nothing was acknowledged charges nobody again", () => {
    const world = worldWithBaseline();
    const first = world.reserve(unmanaged(9));
    world.pass(1_000);
    for (const cpu of [8, 1]) world.reserve(unmanaged(cpu));
    world.cancel(first);
    const last = world.reserve(unmanaged(20));
    world.report("a", sums(1, 1));
    expect(world.inFlight("a").cpuMillicores).toBe(28 * CPU);
    world.cancel(last);
    expect(world.inFlight("a").cpuMillicores).toBe(8 * CPU);
  });

  test("when a lease ends on one whose count alone was acknowledged, the amount of the youngest in its place is charged again", () => {
    const world = worldWithBaseline();
    const large = world.reserve(unmanaged(8));
    world.pass(60_000);
    const small = world.reserve(unmanaged(1));
    world.report("a", sums(1, 1));
    expect([world.get(large).cpuMillicores, world.get(small).cpuMillicores]).toEqual([8 * CPU, 0]);
    world.pass(60_000);
    expect(world.state(large)).toBe("expired");
    expect(world.get(small)).toMatchObject({ state: "pending", cpuMillicores: CPU, memoryBytes: GIB });
    expect(world.inFlight("a")).toEqual({ count: 1, cpuMillicores: CPU, memoryBytes: GIB });
  });
});
