import { describe, expect, test } from "vitest";
import type { Change, PlacementEvent } from "../../../src/actors/placement/events.ts";
import { snapshotOf } from "../../../src/actors/placement/journal-snapshot.ts";
import { violatedSums } from "../../../src/actors/placement/ledger/check-sums.ts";
import { createPlacement, type Placement } from "../../../src/actors/placement/state.ts";
import type { ReservationView } from "../../../src/messages/placement.ts";
import { type Random, seededRandom } from "../../../src/ports/random.ts";
import { CPU, GIB, World } from "./world.ts";

/** Durable state, as plain data in a fixed order. Running leases are left out: a restart bounds them anew. */
function durable(placement: Placement, world: World): unknown {
  return placement.snapshot(world.now).map(({ wallMs, change }) => {
    if (change.type !== "reservation_restored" || change.record.status !== "pending") return { wallMs, change };
    return { wallMs, change: { ...change, record: { ...change.record, leaseEndWallMs: 0 } } };
  });
}

function rebuilt(world: World, events: readonly PlacementEvent[]): Placement {
  const placement = createPlacement(world.config, { random: seededRandom(99) }, world.now);
  placement.replay(structuredClone(events), world.now);
  return placement;
}

/** One random message, or a while of nothing; all kinds, on three nodes of three accountings. */
class RandomRun {
  readonly world = new World({ livePerNodeMax: 40, reservationRetentionMs: 400_000, rememberedMax: 60 });
  readonly #random: Random;
  #made: ReservationView[] = [];
  #successes = 0;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  step(): void {
    const { world } = this;
    const steps: readonly (() => unknown)[] = [
      () => this.#schedule(),
      () => this.#schedule(),
      () => this.#schedule(),
      () =>
        this.#onMade((handle) =>
          world.send({ type: "confirm", handle, sandboxId: this.#sandbox(), force: this.#chance(0.2) }),
        ),
      () => this.#onMade((handle) => world.send({ type: "confirm", handle, sandboxId: this.#sandbox(), force: false })),
      () =>
        this.#onMade((handle) => world.send({ type: "cancel", handle, reason: this.#chance(0.5) ? "failed" : null })),
      () => this.#onMade((handle) => world.send({ type: "renew", handle })),
      () => this.#onMade((handle) => world.send({ type: "uncertain", handle })),
      () => world.send({ type: "release_sandbox", sandboxId: this.#sandbox() }),
      () => this.#onMade((handle) => this.#affirm(handle)),
      () => this.#report(),
      () => this.#report(),
      () => this.#resource(),
      () => this.#event(),
      () => world.send({ type: this.#chance(0.3) ? "cordon" : "uncordon", nodeId: "roster", reason: null }),
      () => world.pass(Math.floor(this.#random.fraction() * 20_000)),
      () => world.tick(),
    ];
    steps[Math.floor(this.#random.fraction() * steps.length)]?.();
  }

  #chance(share: number): boolean {
    return this.#random.fraction() < share;
  }

  #pick<Item>(items: readonly Item[]): Item | undefined {
    return items[Math.floor(this.#random.fraction() * items.length)];
  }

  #sandbox(): string {
    return `s${Math.floor(this.#random.fraction() * 60)}`;
  }

  #schedule(): void {
    const { world } = this;
    const reply = world.send(
      world.request({
        cpuMillicores: this.#pick([CPU, 2 * CPU, null]) ?? null,
        memoryBytes: this.#pick([GIB, null]) ?? null,
        managed: this.#chance(0.5),
        requestId: this.#chance(0.3) ? this.#sandbox() : null,
      }),
    );
    if (reply.ok && reply.answer.reservation !== null)
      this.#made = [...this.#made.slice(-30), reply.answer.reservation];
  }

  #onMade(run: (handle: string) => unknown): void {
    const reservation = this.#pick(this.#made);
    if (reservation !== undefined) run(reservation.token ?? reservation.id);
  }

  /** The caller names the sandbox that was inferred. */
  #affirm(handle: string): void {
    const reply = this.world.send({ type: "get_reservation", handle });
    const sandboxId = reply.ok ? reply.answer.reservation.sandboxId : null;
    if (sandboxId !== null) this.world.send({ type: "confirm", handle, sandboxId, force: false });
  }

  #report(): void {
    const listed = this.#chance(0.5);
    if (this.#chance(0.5)) this.#successes += 1;
    const instance = this.#chance(0.05) ? "run-2" : "run-1";
    const cpu = Math.floor(this.#random.fraction() * 4) * CPU;
    const figures = {
      createSuccesses: this.#successes,
      allocatedCpuMillicores: cpu,
      allocatedMemoryBytes: cpu * 1_000_000,
    };
    const sandboxIds = Array.from({ length: 12 }, () => this.#sandbox());
    this.world.report(listed ? "roster" : "sums", figures, { instance, sandboxIds: listed ? sandboxIds : null });
  }

  #resource(): void {
    const bootId = this.#chance(0.05) ? "boot-2" : "boot-1";
    this.world.resource("ledger", { inventoryNone: true, bootId, memory: this.#pick([0.95, 0.1]) ?? null });
  }

  #event(): void {
    const type = this.#pick(["CREATE", "CREATE", "DELETE", "FORK"] as const) ?? "CREATE";
    this.world.event(this.#pick(["roster", "sums"]) ?? "roster", type, this.#sandbox(), {
      cpu: this.#pick([1, 2]) ?? 1,
    });
  }
}

describe("7. durability", () => {
  const seen = new Set<string>();
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    test(`the events of a random run rebuild the same durable state; so does a snapshot (seed ${seed})`, () => {
      const run = new RandomRun(seed);
      const { world } = run;
      for (let step = 0; step < 1200; step++) {
        run.step();
        if (step % 200 !== 199) continue;
        const expected = durable(world.placement, world);
        const replayed = rebuilt(world, world.events);
        expect(durable(replayed, world)).toEqual(expected);
        expect(violatedSums(replayed.core.ledger)).toEqual([]);
        expect(durable(rebuilt(world, world.placement.snapshot(world.now)), world)).toEqual(expected);
      }
      for (const { change } of world.events) seen.add(change.type);
    });
  }

  test("those runs came by every change of a reservation, and of a node that is still there", () => {
    const never = ["node_unregistered", "node_dropped", "node_endpoint_set", "reservation_restored", "node_restored"];
    const types: Readonly<Record<Change["type"], true>> = {
      reserved: true,
      renewed: true,
      marked_uncertain: true,
      confirmed: true,
      affirmed: true,
      unbound: true,
      cancelled: true,
      expired: true,
      settled: true,
      released: true,
      acknowledged: true,
      dimension_settled: true,
      recharged: true,
      sandbox_named: true,
      forgotten: true,
      reservation_restored: true,
      node_registered: true,
      node_endpoint_set: true,
      node_ledger_set: true,
      node_runtime_seen: true,
      boot_witnessed: true,
      node_unregistered: true,
      node_dropped: true,
      cordoned: true,
      uncordoned: true,
      condition_entered: true,
      condition_left: true,
      node_restored: true,
    };
    expect(Object.keys(types).filter((type) => !seen.has(type) && !never.includes(type))).toEqual([]);
  });

  test("live reservations, tokens and request ids survive; sums and positions too", () => {
    const world = new World();
    world.report("a");
    const pending = world.reserve({ requestId: "r1", cpu: 2 });
    const confirmed = world.confirm(world.reserve({ cpu: 3 }), "s1");
    world.ask({ type: "cordon", nodeId: "a", reason: "swap" });
    const next = world.restart();
    next.report("a");
    expect(next.node("a")).toMatchObject({
      cordoned: true,
      cordonReason: "swap",
      reservations: { pending: 1, confirmed: 1 },
    });
    expect(next.inFlight("a")).toEqual({ count: 2, cpuMillicores: 5 * CPU, memoryBytes: 2 * GIB });
    next.ask({ type: "uncordon", nodeId: "a" });
    expect(next.schedule({ requestId: "r1", cpu: 2 }).reservation).toMatchObject({
      id: pending.id,
      token: pending.token,
    });
    expect(next.confirm(pending, "s2").state).toBe("confirmed");
    expect(next.confirmRefusal(next.reserve(), "s1").details).toMatchObject({ bound_to: confirmed.id });
    expect(next.placement.position).toBeGreaterThan(world.placement.position);
  });

  test("a snapshot rebuilds everything that is asked for: ids, bindings, named sandboxes, the order of ends", () => {
    const world = new World({ rememberedMax: 3 });
    world.report("a");
    const [first, second] = [world.reserve(), world.reserve()];
    const bound = world.confirm(world.reserve(), "s1");
    world.event("a", "DELETE", "gone");
    world.cancel(second);
    world.pass(10);
    world.cancel(first);
    const next = new World({ rememberedMax: 3 });
    next.placement.replay(world.placement.snapshot(world.now), next.now);
    next.report("a");
    const third = next.reserve();
    expect(next.confirmRefusal(third, "s1").details).toMatchObject({ bound_to: bound.id });
    expect(next.confirm(third, "gone").state).toBe("released");
    next.cancel(next.reserve());
    // The second was cancelled first, so it is the one that four are too many for.
    expect([first, second].map(({ id }) => next.placement.core.ledger.reservations.get(id) !== undefined)).toEqual([
      true,
      false,
    ]);
  });

  test("conditions survive a restart, and end as unobserved when their daemon does not come back", () => {
    const rule = { enterAt: 0.9, enterSamples: 1, recoverBelow: 0.8, recoverSamples: 1, action: "exclude" } as const;
    const before = new World({ pressure: { cpu: rule, memory: rule, pid: rule, fd: rule, disk: rule } });
    before.report("a");
    before.resource("a", { memory: 0.95 });
    const world = before.restart();
    world.report("a");
    expect(world.node("a").conditions.map(({ type }) => type)).toEqual(["MEMORY_PRESSURE"]);
    world.pass(600_000);
    world.report("a");
    world.tick();
    expect(world.node("a").conditions).toEqual([]);
  });

  test("after a restart a lease has what the wall clock leaves, at most a full one, at least uncertainTtl", () => {
    const world = new World();
    world.report("a");
    const reservation = world.reserve();
    const leftMs = (next: World): number => (next.get(reservation).expiresAtUnixMs ?? 0) - next.wallMs;
    expect(leftMs(world.restart(20_000))).toBe(100_000);
    expect(leftMs(world.restart(100_000))).toBe(60_000);
    expect(leftMs(world.restart(1e9))).toBe(60_000);
    // A wall clock set back leaves a full one, not a longer one.
    const back = world.restart(-1e9);
    back.pass(119_999);
    expect(back.state(reservation)).toBe("pending");
    back.pass(1);
    expect(back.state(reservation)).toBe("expired");
  });

  test("a compaction, which knows no configuration, does not undo that a node is a ledger node by it", () => {
    const configured = { nodes: [{ nodeId: "a", endpoint: "http://a", ledger: true }] };
    const before = new World(configured);
    before.resource("a", { inventoryNone: false, cpuMillicores: 8 * CPU, memoryBytes: 8 * GIB });
    const reservation = before.reserve();
    before.ask({ type: "uncertain", handle: reservation.token ?? "" });
    const next = new World(configured);
    next.placement.replay(snapshotOf(before.events) as PlacementEvent[], next.now);
    expect(next.placement.core.fleet.nodes.get("a")?.ledger).toBe(true);
  });

  test("a restart, or a rebuild after a failed commit, forgets no node that was heard until then, however old", () => {
    const hours = 3_600_000;
    const before = new World();
    before.report("a");
    for (let hour = 0; hour < 26; hour++) {
      before.pass(hours);
      before.report("a");
    }
    const mine = before.confirm(before.reserve(), "s1");
    before.ask({ type: "cordon", nodeId: "a", reason: "swap" });
    const world = before.restart(1_000);
    world.tick();
    world.pass(2_000);
    world.tick();
    expect(world.state(mine)).toBe("confirmed");
    expect(world.node("a")).toMatchObject({ cordoned: true, reservations: { confirmed: 1 } });
    // Silent for as long after it, the node is forgotten.
    for (let passedMs = 0; passedMs < 24 * hours; passedMs += 10_000) {
      world.pass(10_000);
      world.tick();
    }
    expect(world.state(mine)).toBe("released");
  });

  test("a restart orphans nothing by one roster", () => {
    const before = new World();
    before.report("a", {}, { sandboxIds: [] });
    const mine = before.confirm(before.reserve(), "s1");
    const world = before.restart(60_000);
    world.report("a", {}, { sandboxIds: [] });
    expect(world.state(mine)).toBe("confirmed");
    world.report("a", {}, { sandboxIds: [] });
    expect(world.state(mine)).toBe("expired");
  });

  test("a refusal, a read and a repeat make no event", () => {
    const world = new World();
    world.report("a");
    const reservation = world.reserve({ requestId: "r1" });
    const count = world.events.length;
    world.refusal(world.request({ cpu: 99 }));
    world.get(reservation);
    world.schedule({ requestId: "r1" });
    world.node("a");
    world.report("a");
    world.tick();
    expect(world.events.length).toBe(count);
  });

  test("the same messages at the same times with the same seed: the same answers and events", () => {
    const one = new RandomRun(11);
    const two = new RandomRun(11);
    for (let step = 0; step < 300; step++) {
      one.step();
      two.step();
    }
    expect(one.world.events).toEqual(two.world.events);
  });

  test("a handler that throws is answered, and the others go on", () => {
    const world = new World();
    world.report("a");
    const broken = { type: "heartbeat", nodeId: "a" } as const;
    const outcome = world.placement.handle(JSON.parse(JSON.stringify(broken)), world.now);
    expect(outcome.reply).toMatchObject({ ok: false, refusal: { code: "internal" } });
    expect(outcome.notices.map(({ type }) => type)).toEqual(["handler_failed"]);
    expect(world.reserve().nodeId).toBe("a");
  });
});

describe("time", () => {
  test("nextDueMs: nothing, the guard, a lease, a sweep", () => {
    const empty = new World();
    expect(empty.placement.nextDueMs()).toBeNull();
    const guarded = new World({ nodes: [{ nodeId: "a", endpoint: "http://a", ledger: false }], startGuardMs: 300 });
    expect(guarded.placement.nextDueMs()).toBe(guarded.nowMs + 300);
    const world = new World({ placementReservationTtlMs: 400 });
    world.report("a");
    expect(world.placement.nextDueMs()).toBe(world.nowMs + 1_000);
    world.reserve();
    expect(world.placement.nextDueMs()).toBe(world.nowMs + 400);
  });
});
