import { describe, expect, test } from "vitest";
import { CPU, GIB, World } from "./world.ts";

const large = { cpu: 8, memoryGib: 8 };
const small = { cpu: 1, memoryGib: 1 };

/** The sums of a runtime on which sandboxes of so many CPUs, and as many GiB, run. */
function running(...cpus: number[]) {
  const sum = cpus.reduce((total, cpu) => total + cpu, 0);
  return {
    allocatedCpuMillicores: sum * CPU,
    allocatedMemoryBytes: sum * GIB,
    sandboxCount: cpus.length,
    createSuccesses: cpus.length,
  };
}

describe("5.2 roster nodes", () => {
  test("large then small: the small sandbox that appears first settles its own reservation, not the large one's", () => {
    const world = new World();
    world.report("a", {}, { sandboxIds: [] });
    const first = world.reserve(large);
    const second = world.reserve(small);
    world.confirm(second, "s-small");
    world.report("a", running(1), { sandboxIds: ["s-small"] });
    expect([world.state(first), world.state(second)]).toEqual(["pending", "settled"]);
    expect(world.node("a").projected.cpuMillicores).toBe(9 * CPU);
  });

  test("the increase must cover every new id, all of them bound", () => {
    const world = new World();
    world.report("a", {}, { sandboxIds: [] });
    const one = world.confirm(world.reserve(small), "s1");
    const two = world.confirm(world.reserve(large), "s2");
    // The sums were read a moment before the roster: they miss the large one.
    world.report("a", running(1), { sandboxIds: ["s1", "s2"] });
    expect([world.state(one), world.state(two)]).toEqual(["confirmed", "confirmed"]);
    world.report("a", running(1, 8), { sandboxIds: ["s1", "s2"] });
    expect([world.state(one), world.state(two)]).toEqual(["settled", "settled"]);
  });

  test("another scheduler's or a direct create in the same roster covers nothing", () => {
    const world = new World();
    world.report("a", {}, { sandboxIds: [] });
    const mine = world.confirm(world.reserve(small), "s1");
    world.report("a", running(8), { sandboxIds: ["s1", "foreign"] });
    expect(world.state(mine)).toBe("confirmed");
    world.report("a", running(8, 1), { sandboxIds: ["s1", "foreign"] });
    expect(world.state(mine)).toBe("settled");
  });

  test("an id that is new in the previous roster may be a part of this increase", () => {
    const world = new World();
    world.report("a", {}, { sandboxIds: [] });
    world.report("a", {}, { sandboxIds: ["foreign"] });
    const mine = world.confirm(world.reserve(small), "s1");
    // The CPU is the foreign sandbox's, whose sums the report before had missed.
    world.report("a", running(1), { sandboxIds: ["foreign", "s1"] });
    expect(world.state(mine)).toBe("confirmed");
  });

  test("ids in both of the two rosters before do not count as new", () => {
    const world = new World();
    for (let index = 0; index < 3; index++) world.report("a", running(4), { sandboxIds: ["foreign"] });
    const mine = world.confirm(world.reserve(small), "s1");
    world.report("a", running(4, 1), { sandboxIds: ["foreign", "s1"] });
    expect(world.state(mine)).toBe("settled");
  });

  test("an id that settled by the previous roster is no part of this increase", () => {
    const world = new World();
    world.report("a", {}, { sandboxIds: [] });
    const one = world.confirm(world.reserve(small), "s1");
    world.report("a", running(1), { sandboxIds: ["s1"] });
    const two = world.confirm(world.reserve(large), "s2");
    world.report("a", running(1, 8), { sandboxIds: ["s1", "s2"] });
    expect([world.state(one), world.state(two)]).toEqual(["settled", "settled"]);
    expect(world.node("a").projected.cpuMillicores).toBe(9 * CPU);
  });

  test("one that settles by this roster, or by a confirm after it, is a part of its increase all the same", () => {
    const world = new World();
    world.report("a", {}, { sandboxIds: [] });
    const [late, early, fresh] = [world.reserve(small), world.reserve(small), world.reserve(small)];
    // The sums beside the first roster miss both, and the second ones miss the newest.
    world.report("a", {}, { sandboxIds: ["s-late", "s-early"] });
    world.confirm(early, "s-early");
    world.report("a", running(1, 1), { sandboxIds: ["s-late", "s-early", "s-fresh"] });
    expect(world.state(early)).toBe("settled");
    expect(world.confirm(late, "s-late").state).toBe("settled");
    expect(world.confirm(fresh, "s-fresh").state).toBe("confirmed");
  });

  test("an id that settled, was gone and is listed again counts as new", () => {
    const world = new World();
    world.report("a", {}, { sandboxIds: [] });
    const gone = world.confirm(world.reserve(small), "s1");
    world.report("a", running(1), { sandboxIds: ["s1"] });
    expect(world.state(gone)).toBe("settled");
    world.report("a", {}, { sandboxIds: [] });
    const fresh = world.confirm(world.reserve(small), "s2");
    world.report("a", running(1), { sandboxIds: ["s1", "s2"] });
    expect(world.state(fresh)).toBe("confirmed");
  });

  test("paused amounts count: a pause between two reports changes nothing", () => {
    const world = new World();
    for (let index = 0; index < 3; index++) world.report("a", running(4), { sandboxIds: ["other"] });
    const mine = world.confirm(world.reserve(small), "s1");
    const paused = {
      pausedSandboxCount: 1,
      pausedAllocatedCpuMillicores: 4 * CPU,
      pausedAllocatedMemoryBytes: 4 * GIB,
    };
    world.report("a", { ...running(1), ...paused }, { sandboxIds: ["other", "s1"] });
    expect(world.state(mine)).toBe("settled");
  });

  test("a deletion that hides the increase delays it by one roster", () => {
    const world = new World();
    for (let index = 0; index < 3; index++) world.report("a", running(4), { sandboxIds: ["other"] });
    const mine = world.confirm(world.reserve(small), "s1");
    world.report("a", running(1), { sandboxIds: ["s1"] });
    expect(world.state(mine)).toBe("confirmed");
    world.report("a", running(1), { sandboxIds: ["s1"] });
    expect(world.state(mine)).toBe("settled");
  });

  test("of unknown size it waits for the second roster; one dimension that is known of every new id is enough", () => {
    const template = { hint: "new_sandbox", cpuMillicores: null, memoryBytes: null } as const;
    const world = new World();
    world.report("a", {}, { sandboxIds: [] });
    const unknown = world.confirm(world.reserve(template), "s1");
    const known = world.confirm(world.reserve(small), "s2");
    world.report("a", running(1, 1), { sandboxIds: ["s1", "s2"] });
    expect([world.state(unknown), world.state(known)]).toEqual(["confirmed", "confirmed"]);
    world.report("a", running(1, 1), { sandboxIds: ["s1", "s2"] });
    expect([world.state(unknown), world.state(known)]).toEqual(["settled", "settled"]);
    world.report("a", running(1, 1), { sandboxIds: ["s1", "s2"] });

    const ofMemory = world.confirm(world.reserve({ cpuMillicores: null, memoryGib: 2 }), "s3");
    const ofBoth = world.confirm(world.reserve(small), "s4");
    world.report("a", running(1, 1, 2, 1), { sandboxIds: ["s1", "s2", "s3", "s4"] });
    expect([world.state(ofMemory), world.state(ofBoth)]).toEqual(["settled", "settled"]);
  });

  test("where no dimension is known of every new id, nothing is covered", () => {
    const world = new World();
    world.report("a", {}, { sandboxIds: [] });
    const ofCpu = world.confirm(world.reserve({ cpu: 1, memoryBytes: null }), "s1");
    const ofMemory = world.confirm(world.reserve({ cpuMillicores: null, memoryGib: 1 }), "s2");
    world.report("a", running(1, 1), { sandboxIds: ["s1", "s2"] });
    expect([world.state(ofCpu), world.state(ofMemory)]).toEqual(["confirmed", "confirmed"]);
  });

  test("the dimension that does not grow enough keeps it", () => {
    const world = new World();
    world.report("a", {}, { sandboxIds: [] });
    const mine = world.confirm(world.reserve(small), "s1");
    world.report("a", { ...running(1), allocatedMemoryBytes: GIB - 1 }, { sandboxIds: ["s1"] });
    expect(world.state(mine)).toBe("confirmed");
  });

  test("at the confirm: an id that both of the last two rosters list settles at once", () => {
    const world = new World();
    world.report("a", {}, { sandboxIds: [] });
    const reservation = world.reserve(small);
    world.report("a", running(1), { sandboxIds: ["s1"] });
    world.report("a", running(1), { sandboxIds: ["s1"] });
    expect(world.confirm(reservation, "s1").state).toBe("settled");
  });

  test("at the confirm: one in the last roster alone settles if its increase covers it", () => {
    const world = new World();
    world.report("a", {}, { sandboxIds: [] });
    const covered = world.reserve(small);
    world.report("a", running(1), { sandboxIds: ["s1"] });
    expect(world.confirm(covered, "s1").state).toBe("settled");
    const hidden = world.reserve(large);
    world.report("a", running(1), { sandboxIds: ["s1", "s2"] });
    expect(world.confirm(hidden, "s2").state).toBe("confirmed");
  });

  test("previous means of the same instance: no difference is taken across a restart", () => {
    const world = new World();
    world.report("a", {}, { sandboxIds: [] });
    const mine = world.confirm(world.reserve(small), "s1");
    world.report("a", running(1), { sandboxIds: ["s1"], instance: "run-2" });
    expect(world.state(mine)).toBe("confirmed");
    world.report("a", running(1), { sandboxIds: ["s1"], instance: "run-2" });
    expect(world.state(mine)).toBe("settled");
  });

  test("counters that ran backwards open a new epoch under the same instance", () => {
    const world = new World();
    world.report("a", { ...running(4), createSuccesses: 50 }, { sandboxIds: ["s1"] });
    const mine = world.confirm(world.reserve(small), "s1");
    world.report("a", { ...running(5), createSuccesses: 0 }, { sandboxIds: ["s1"] });
    expect(world.state(mine)).toBe("confirmed");
    expect(world.notices).toContainEqual({ type: "epoch_opened", nodeId: "a", why: "counters" });
  });

  test("a report without a roster settles nothing, an empty roster says that nothing runs", () => {
    const world = new World();
    world.report("a", {}, { sandboxIds: [] });
    const mine = world.confirm(world.reserve(small), "s1");
    world.pass(20_000);
    world.report("a", running(1));
    world.report("a", running(1));
    expect(world.state(mine)).toBe("confirmed");
    world.report("a", {}, { sandboxIds: [] });
    world.report("a", {}, { sandboxIds: [] });
    expect(world.get(mine)).toMatchObject({ state: "expired", reason: "orphaned" });
  });

  test("a roster settles reservations of its own node only", () => {
    const world = new World();
    world.report("a", {}, { sandboxIds: [] });
    world.report("b", {}, { sandboxIds: [] });
    const onA = world.confirm(world.reserve({ excludeNodeIds: ["b"] }), "s1");
    for (let index = 0; index < 3; index++) world.report("b", running(1), { sandboxIds: ["s1"] });
    expect(world.state(onA)).toBe("confirmed");
  });

  test("create and delete within one heartbeat: DELETE, or DELETE /v1/sandboxes, releases what was never listed", () => {
    const world = new World();
    world.report("a", {}, { sandboxIds: [] });
    const byEvent = world.confirm(world.reserve(), "s1");
    const byCall = world.confirm(world.reserve(), "s2");
    world.event("a", "DELETE", "s1");
    world.ask({ type: "release_sandbox", sandboxId: "s2" });
    world.ask({ type: "release_sandbox", sandboxId: "unknown" });
    expect([world.get(byEvent).reason, world.get(byCall).reason]).toEqual(["deleted", "deleted"]);
    expect(world.inFlight("a").count).toBe(0);
  });

  test("a settled one stays settled when its sandbox is deleted", () => {
    const world = new World();
    world.report("a", {}, { sandboxIds: [] });
    const mine = world.confirm(world.reserve(small), "s1");
    world.report("a", running(1), { sandboxIds: ["s1"] });
    world.ask({ type: "release_sandbox", sandboxId: "s1" });
    expect(world.state(mine)).toBe("settled");
    expect(world.routes.at(-1)).toEqual({ type: "deleted", sandboxId: "s1" });
  });
});

describe("5.2 sums nodes", () => {
  test("by the second snapshot after the confirm that arrives at least 1 s after the first", () => {
    const world = new World();
    world.report("a");
    const mine = world.confirm(world.reserve(), "s1");
    expect(world.node("a").accounting).toBe("sums");
    world.pass(5_000);
    world.report("a", running(1));
    world.pass(999);
    world.report("a", running(1));
    expect(world.state(mine)).toBe("confirmed");
    world.pass(1);
    world.report("a", running(1));
    expect(world.state(mine)).toBe("settled");
  });
});

describe("5.2 ledger nodes", () => {
  function ledgerWorld(): World {
    const world = new World();
    world.resource("l", { inventoryNone: true, bootId: "boot-1" });
    return world;
  }

  test("a confirmed one stays charged until its sandbox is deleted; reports settle nothing", () => {
    const world = ledgerWorld();
    const mine = world.confirm(world.reserve(large), "s1");
    for (let index = 0; index < 5; index++) {
      world.pass(20_000);
      world.resource("l", { inventoryNone: true, bootId: "boot-1" });
    }
    expect(world.get(mine)).toMatchObject({ state: "confirmed", cpuMillicores: 8 * CPU });
    world.ask({ type: "release_sandbox", sandboxId: "s1" });
    expect(world.get(mine)).toMatchObject({ state: "released", cpuMillicores: 0 });
  });

  test("a reboot releases what was made before the last report of the old boot; later ones stay", () => {
    const world = ledgerWorld();
    const confirmed = world.confirm(world.reserve(), "s1");
    const pending = world.reserve();
    world.resource("l", { inventoryNone: true, bootId: "boot-1" });
    const later = world.reserve();
    world.resource("l", { inventoryNone: true, bootId: "boot-2" });
    expect([confirmed, pending].map((each) => world.get(each).reason)).toEqual(["rebooted", "rebooted"]);
    expect(world.state(later)).toBe("pending");
    expect(world.confirmRefusal(confirmed, "s1")).toMatchObject({ code: "conflict", details: { state: "released" } });
    expect(world.confirmRefusal(pending, "s2").code).toBe("conflict");
    expect(world.confirm(later, "s3").state).toBe("confirmed");
  });

  test("so it is after a restart of the scheduler", () => {
    const before = ledgerWorld();
    const confirmed = before.confirm(before.reserve(), "s1");
    before.resource("l", { inventoryNone: true, bootId: "boot-1" });
    const later = before.confirm(before.reserve(), "s2");
    const world = before.restart(5_000);
    world.resource("l", { inventoryNone: true, bootId: "boot-2", instance: "daemon-2" });
    expect([world.state(confirmed), world.state(later)]).toEqual(["released", "confirmed"]);
  });

  test("a daemon restart releases nothing", () => {
    const world = ledgerWorld();
    const mine = world.confirm(world.reserve(), "s1");
    world.resource("l", { inventoryNone: true, bootId: "boot-1" });
    world.resource("l", { inventoryNone: true, bootId: "boot-1", instance: "daemon-2" });
    expect(world.state(mine)).toBe("confirmed");
  });

  test("an uncertain one ends by its caller or maxReservationAge, not by its lease", () => {
    const world = ledgerWorld();
    const mine = world.uncertain(world.reserve());
    const createdMs = world.wallMs;
    expect(mine.expiresAtUnixMs).toBe(createdMs + 3_600_000);
    world.pass(3_599_999);
    expect(world.state(mine)).toBe("pending");
    world.pass(1);
    expect(world.state(mine)).toBe("expired");
    const other = world.restart();
    expect(other.state(mine)).toBe("expired");
  });
});

describe("5.3 nothing is held for ever", () => {
  function confirmedOn(): { world: World; mine: ReturnType<World["reserve"]> } {
    const world = new World();
    world.report("a", {}, { sandboxIds: [] });
    return { world, mine: world.confirm(world.reserve(), "s1") };
  }

  test("orphaned by a roster at least 15 s after the confirm, when an earlier one lacked it too", () => {
    const { world, mine } = confirmedOn();
    world.pass(14_999);
    world.report("a", {}, { sandboxIds: [] });
    expect(world.state(mine)).toBe("confirmed");
    world.pass(1);
    world.report("a", {}, { sandboxIds: [] });
    expect(world.get(mine)).toMatchObject({ state: "expired", reason: "orphaned" });
    expect(world.notices).toContainEqual({ type: "orphaned_confirmation", nodeId: "a" });
  });

  test("one roster is not enough, however late; of a newer instance it is", () => {
    const { world, mine } = confirmedOn();
    world.pass(60_000);
    world.report("a", {}, { sandboxIds: [] });
    expect(world.state(mine)).toBe("confirmed");
    const other = confirmedOn();
    other.world.pass(15_000);
    other.world.report("a", {}, { sandboxIds: [], instance: "run-2" });
    expect(other.world.state(other.mine)).toBe("expired");
  });

  test("silence orphans nothing", () => {
    const { world, mine } = confirmedOn();
    for (let hour = 0; hour < 23; hour++) {
      world.pass(3_600_000);
      world.tick();
    }
    expect(world.state(mine)).toBe("confirmed");
  });

  test("a confirm repeated after an orphan end is a late confirm", () => {
    const { world, mine } = confirmedOn();
    world.report("a", {}, { sandboxIds: [] });
    world.pass(15_000);
    world.report("a", {}, { sandboxIds: [] });
    expect(world.state(mine)).toBe("expired");
    expect(world.confirmRefusal(mine, "s2").code).toBe("conflict");
    expect(world.ask({ type: "confirm", handle: mine.id, sandboxId: "s1", force: false }).reservation).toMatchObject({
      state: "confirmed",
      late: true,
    });
  });

  test("a node silent for nodeForgetTtl ends its reservations and is dropped", () => {
    const { world, mine } = confirmedOn();
    world.pass(86_399_999);
    world.tick();
    expect(world.state(mine)).toBe("confirmed");
    world.pass(1_001);
    world.tick();
    expect(world.get(mine)).toMatchObject({ state: "released", reason: "node_gone" });
    expect(world.refusal({ type: "get_node", nodeId: "a" }).code).toBe("not_found");
  });

  test("so is one that unregistered so long ago, and a configured one keeps its place", () => {
    const { world, mine } = confirmedOn();
    world.ask({ type: "unregister", nodeId: "a", serviceInstanceId: "run-1" });
    world.pass(86_399_999);
    world.tick();
    expect(world.state(mine)).toBe("confirmed");
    world.pass(1_001);
    world.tick();
    expect(world.get(mine).reason).toBe("node_gone");
    expect(world.placement.core.fleet.nodes.size).toBe(0);

    const fixed = new World({ nodes: [{ nodeId: "a", endpoint: "http://a", ledger: false }] });
    fixed.report("a", {}, { sandboxIds: [] });
    const other = fixed.confirm(fixed.reserve(), "s1");
    fixed.pass(86_400_000);
    fixed.tick();
    expect(fixed.get(other).reason).toBe("node_gone");
    expect(fixed.node("a").status).toBe("UNHEALTHY");
  });
});
