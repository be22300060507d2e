import { describe, expect, test } from "vitest";
import { nextStatus, TRANSITIONS, type Transition } from "../../../src/actors/placement/ledger/reservation.ts";
import { RESERVATION_STATES, type ReservationView } from "../../../src/messages/placement.ts";
import { CPU, GIB, type ScheduleOptions, World } from "./world.ts";

function worldWithNode(config: ConstructorParameters<typeof World>[0] = {}): World {
  const world = new World({ reportTtlMs: 1e9, ...config });
  world.report("a");
  return world;
}

describe("4. transition table", () => {
  const transitions: readonly Transition[] = ["confirmed", "unbound", "cancelled", "expired", "settled", "released"];
  const legal: Readonly<Record<string, string>> = {
    "pending confirmed": "confirmed",
    "pending cancelled": "cancelled",
    "pending expired": "expired",
    "pending settled": "settled",
    "pending released": "released",
    "confirmed confirmed": "confirmed",
    "confirmed unbound": "pending",
    "confirmed expired": "expired",
    "confirmed settled": "settled",
    "confirmed released": "released",
    "settled confirmed": "confirmed",
    "settled unbound": "pending",
    "expired confirmed": "confirmed",
    "expired unbound": "pending",
    "released confirmed": "confirmed",
    "released unbound": "pending",
  };
  for (const state of RESERVATION_STATES) {
    for (const transition of transitions) {
      const expected = legal[`${state} ${transition}`] ?? null;
      test(`${state}, ${transition}: ${expected ?? "cannot happen"}`, () => {
        expect(nextStatus(state, transition)).toBe(expected);
      });
    }
  }

  test("the table names every state", () => {
    expect(Object.keys(TRANSITIONS).sort()).toEqual([...RESERVATION_STATES].sort());
  });

  test("a change that cannot be leaves the sums as they are", () => {
    const world = worldWithNode();
    const reservation = world.reserve();
    world.cancel(reservation);
    const { ledger } = world.placement.core;
    const change = { type: "settled", id: reservation.id } as const;
    expect(() => ledger.apply(change, { ...world.now, position: 9 })).toThrow("settled: not from cancelled");
    expect(ledger.ended.size).toBe(1);
  });
});

describe("4. calls, cell by cell", () => {
  type Maker = (world: World) => ReservationView;
  const makers: Readonly<Record<string, Maker>> = {
    pending: (world) => world.reserve(),
    confirmed: (world) => world.confirm(world.reserve(), "s1"),
    settled: (world) => {
      const reservation = world.confirm(world.reserve(), "s1");
      world.report("a", {}, { sandboxIds: ["s1"] });
      world.report("a", {}, { sandboxIds: ["s1"] });
      return reservation;
    },
    cancelled: (world) => world.cancel(world.reserve()),
    expired: (world) => {
      const reservation = world.reserve();
      world.pass(120_000);
      return reservation;
    },
    released: (world) => {
      const reservation = world.confirm(world.reserve(), "s1");
      world.ask({ type: "release_sandbox", sandboxId: "s1" });
      return reservation;
    },
  };
  const answers: readonly (readonly [state: string, call: string, answer: string])[] = [
    ["pending", "confirm", "confirmed"],
    ["pending", "cancel", "cancelled"],
    ["pending", "renew", "pending"],
    ["pending", "uncertain", "pending"],
    ["confirmed", "confirm", "confirmed"],
    ["confirmed", "confirm other", "conflict"],
    ["confirmed", "cancel", "conflict"],
    ["confirmed", "renew", "conflict"],
    ["confirmed", "uncertain", "conflict"],
    ["settled", "confirm", "settled"],
    ["settled", "confirm other", "conflict"],
    ["settled", "cancel", "conflict"],
    ["settled", "renew", "conflict"],
    ["settled", "uncertain", "conflict"],
    ["cancelled", "confirm", "conflict"],
    ["cancelled", "cancel", "cancelled"],
    ["cancelled", "renew", "conflict"],
    ["cancelled", "uncertain", "conflict"],
    ["expired", "confirm", "confirmed"],
    ["expired", "cancel", "expired"],
    ["expired", "renew", "conflict"],
    ["expired", "uncertain", "conflict"],
    ["released", "confirm", "released"],
    ["released", "confirm other", "conflict"],
    ["released", "cancel", "conflict"],
    ["released", "renew", "conflict"],
    ["released", "uncertain", "conflict"],
  ];
  for (const [state, call, answer] of answers) {
    test(`${state}, ${call}: ${answer}, and again`, () => {
      const world = worldWithNode();
      const reservation = makers[state]?.(world) ?? world.reserve();
      expect(world.state(reservation)).toBe(state);
      const send = () => {
        const { token } = world.placement.core.ledger.reservations.get(reservation.id)?.terms ?? { token: null };
        const handle = token ?? reservation.id;
        if (call.startsWith("confirm")) {
          return world.send({ type: "confirm", handle, sandboxId: call === "confirm" ? "s1" : "s2", force: false });
        }
        if (call === "cancel") return world.send({ type: "cancel", handle, reason: null });
        return world.send({ type: call === "renew" ? "renew" : "uncertain", handle });
      };
      for (const reply of [send(), send()]) {
        if (reply.ok) expect(reply.answer.reservation.state).toBe(answer);
        else expect([reply.refusal.code, reply.refusal.details.state]).toEqual([answer, state]);
      }
    });
  }

  test("an unknown token or id: not_found", () => {
    const world = worldWithNode();
    for (const handle of ["rt_none", "rs_none", ""]) {
      expect(world.refusal({ type: "confirm", handle, sandboxId: "s", force: true }).code).toBe("not_found");
      expect(world.refusal({ type: "cancel", handle, reason: null }).code).toBe("not_found");
      expect(world.refusal({ type: "get_reservation", handle }).code).toBe("not_found");
    }
  });
});

describe("4. tokens", () => {
  test("shown in the answer that made it, in repeats, and to calls that present it; never else", () => {
    const world = worldWithNode();
    const made = world.reserve({ requestId: "r1" });
    expect(world.reserve({ requestId: "r1" }).token).toBe(made.token);
    expect(world.ask({ type: "get_reservation", handle: made.token ?? "" }).reservation.token).toBe(made.token);
    expect(world.get(made).token).toBeNull();
    const list = world.ask({ type: "list_reservations", nodeId: null, state: null, limit: 10, cursor: null });
    expect(list.reservations.map(({ token }) => token)).toEqual([null]);
  });

  test("144 random bits, URL-safe, all different", () => {
    const world = worldWithNode({ livePerNodeMax: 1e9 });
    const names = new Set<string>();
    for (let index = 0; index < 1000; index++) {
      const { reply } = world.placement.handle(world.request({ cpuMillicores: 1, memoryBytes: 1 }), world.now);
      const reservation = reply.ok ? reply.answer.reservation : null;
      names.add(reservation?.token ?? "").add(reservation?.id ?? "");
    }
    expect(names.size).toBe(2000);
    for (const name of names) expect(name).toMatch(/^(rs_[A-Za-z0-9_-]{17}|rt_[A-Za-z0-9_-]{41})$/);
  });

  test("the secret of a token is not the id's, and every character of it counts", () => {
    const world = worldWithNode();
    const { id, token } = world.reserve();
    const known = token ?? "";
    expect(known.slice(3, 20)).toBe(id.slice(3));
    for (let at = 3; at < known.length; at++) {
      const forged = `${known.slice(0, at)}${known[at] === "A" ? "B" : "A"}${known.slice(at + 1)}`;
      expect(world.refusal({ type: "get_reservation", handle: forged }).code).toBe("not_found");
    }
    for (const handle of [known.slice(0, 20), `${known}A`, "rt_", `rt_${id}`]) {
      expect(world.refusal({ type: "cancel", handle, reason: null }).code).toBe("not_found");
    }
    expect(world.ask({ type: "get_reservation", handle: known }).reservation.id).toBe(id);
  });

  test("an unmanaged one is found by no token", () => {
    const world = worldWithNode();
    const { id } = world.reserve({ managed: false });
    for (const handle of [`rt_${id.slice(3)}`, `rt_${id.slice(3)}${"A".repeat(24)}`, "rt_null"]) {
      expect(world.refusal({ type: "get_reservation", handle }).code).toBe("not_found");
    }
  });
});

describe("4. lease", () => {
  test("ends at its instant, without a request, within the second", () => {
    const world = worldWithNode();
    const reservation = world.reserve({ cpu: 16 });
    expect(reservation.expiresAtUnixMs).toBe(world.wallMs + 120_000);
    expect(world.placement.nextDueMs()).toBeLessThanOrEqual(world.nowMs + 120_000);
    world.pass(119_999);
    expect(world.reasons()).toEqual({ "insufficient cpu in flight": 1 });
    world.pass(1);
    world.tick();
    expect(world.placement.core.fleet.nodes.get("a")?.account.inFlight.cpuMillicores).toBe(0);
    expect(world.get(reservation)).toMatchObject({
      state: "expired",
      reason: "lease",
      expiresAtUnixMs: null,
      cpuMillicores: 0,
    });
  });

  test("is judged at every decision, and its end stands before what was decided on it", () => {
    const world = worldWithNode();
    const first = world.reserve({ cpu: 16 });
    world.pass(120_000);
    const second = world.reserve({ cpu: 16 });
    const types = world.events.slice(-2).map(({ change }) => change.type);
    expect(types).toEqual(["expired", "reserved"]);
    expect([world.state(first), second.state]).toEqual(["expired", "pending"]);
  });

  test("leases end in the order of their ends, whatever order they were made or renewed in", () => {
    const world = worldWithNode({ livePerNodeMax: 1e9 });
    const made = Array.from({ length: 40 }, () => {
      world.pass(7);
      return world.reserve({ cpuMillicores: 1, memoryBytes: 1 });
    });
    for (const index of [3, 20, 11, 0, 39]) {
      const reservation = made[index];
      if (reservation !== undefined) world.renew(reservation);
      world.pass(1);
    }
    for (const index of [5, 6]) {
      const reservation = made[index];
      if (reservation !== undefined) world.cancel(reservation);
    }
    world.pass(200_000);
    world.tick();
    const ends = world.events.flatMap(({ change }) => (change.type === "expired" ? [change.id] : []));
    const renewed = [3, 20, 11, 0, 39];
    const expected = [...made.keys()]
      .filter((index) => !renewed.includes(index) && index !== 5 && index !== 6)
      .concat(renewed);
    expect(ends).toEqual(expected.map((index) => made[index]?.id));
  });

  test("renew sets the end to now + ttl, at most created_at + max_reservation_age", () => {
    const world = worldWithNode({ maxReservationAgeMs: 300_000 });
    const reservation = world.reserve();
    const createdMs = world.wallMs;
    world.pass(100_000);
    expect(world.renew(reservation).expiresAtUnixMs).toBe(createdMs + 220_000);
    world.pass(100_000);
    expect(world.renew(reservation).expiresAtUnixMs).toBe(createdMs + 300_000);
    world.pass(99_999);
    expect(world.renew(reservation).expiresAtUnixMs).toBe(createdMs + 300_000);
    world.pass(1);
    expect(world.state(reservation)).toBe("expired");
  });

  test("uncertain ends it at the earlier of its end and mark + uncertainTtl; repeats change nothing; renew clears it", () => {
    const world = worldWithNode();
    const reservation = world.reserve();
    const createdMs = world.wallMs;
    expect(world.uncertain(reservation)).toMatchObject({ uncertain: true, expiresAtUnixMs: createdMs + 60_000 });
    world.pass(10_000);
    expect(world.uncertain(reservation).expiresAtUnixMs).toBe(createdMs + 60_000);
    expect(world.renew(reservation)).toMatchObject({ uncertain: false, expiresAtUnixMs: createdMs + 130_000 });
    world.pass(100_000);
    expect(world.uncertain(reservation).expiresAtUnixMs).toBe(createdMs + 130_000);
  });
});

describe("4. late confirm", () => {
  function expired(options: ScheduleOptions = {}): { world: World; reservation: ReservationView } {
    const world = worldWithNode();
    const reservation = world.reserve({ cpu: 16, ...options });
    world.pass(120_000);
    return { world, reservation };
  }

  test("is admitted again where it still fits, and marked late", () => {
    const { world, reservation } = expired();
    expect(world.confirm(reservation, "s1")).toMatchObject({ state: "confirmed", late: true, cpuMillicores: 16 * CPU });
    expect(world.notices).toContainEqual({ type: "late_confirmation", nodeId: "a", forced: false });
  });

  test("cordon, conditions and silence refuse nothing that already exists", () => {
    const { world, reservation } = expired();
    world.ask({ type: "cordon", nodeId: "a", reason: null });
    world.pass(1e10);
    expect(world.confirm(reservation, "s1").state).toBe("confirmed");
  });

  test("where it does not fit: expired, and charged with force", () => {
    const { world, reservation } = expired();
    const other = world.reserve({ cpu: 10 });
    expect(world.confirmRefusal(reservation, "s1")).toMatchObject({ code: "expired", details: { state: "expired" } });
    expect(world.inFlight("a").cpuMillicores).toBe(10 * CPU);
    expect(world.confirm(reservation, "s1", true).state).toBe("confirmed");
    expect(world.node("a")).toMatchObject({
      overLimit: true,
      available: { cpuMillicores: 0 },
      inFlight: { cpuMillicores: 26 * CPU },
    });
    expect(world.state(other)).toBe("pending");
  });

  test("listed in the newest roster: no fit test", () => {
    const { world, reservation } = expired();
    world.reserve({ cpu: 16 });
    world.report("a", { allocatedCpuMillicores: 16 * CPU }, { sandboxIds: ["s1"] });
    expect(world.confirm(reservation, "s1")).toMatchObject({ state: "confirmed", late: true });
    world.report("a", {}, { sandboxIds: [] });
  });

  test("of one with unknown demand needs room, however little", () => {
    const { world, reservation } = expired({ hint: "new_sandbox", cpuMillicores: null, memoryBytes: null });
    world.report("a", { allocatedCpuMillicores: 16 * CPU });
    expect(world.confirmRefusal(reservation, "s1").code).toBe("expired");
  });
});

describe("4. a sandbox id binds once", () => {
  test("bound to a live or remembered reservation: conflict that names it", () => {
    const world = worldWithNode();
    const first = world.confirm(world.reserve(), "s1");
    const second = world.reserve();
    expect(world.confirmRefusal(second, "s1")).toMatchObject({ code: "conflict", details: { bound_to: first.id } });
    world.ask({ type: "release_sandbox", sandboxId: "s1" });
    expect(world.confirmRefusal(second, "s1").code).toBe("conflict");
    expect(world.state(second)).toBe("pending");
  });

  test("an id already deleted: released at once", () => {
    const world = worldWithNode();
    world.event("a", "DELETE", "s1");
    expect(world.confirm(world.reserve(), "s1")).toMatchObject({ state: "released", reason: "deleted" });
    expect(world.inFlight("a").count).toBe(0);
  });

  test("an id named by a FORK binds nothing: conflict", () => {
    const world = worldWithNode();
    world.event("a", "FORK", "s1");
    expect(world.confirmRefusal(world.reserve(), "s1").code).toBe("conflict");
  });
});

describe("4. request_id", () => {
  test("its repeat, also at the same instant, returns the reservation as it now is, also an ended one", () => {
    const world = worldWithNode();
    const first = world.schedule({ requestId: "r1" });
    const again = world.schedule({ requestId: "r1" });
    expect(again).toEqual({ ...first, repeated: true });
    expect(world.inFlight("a").count).toBe(1);
    if (first.reservation !== null) world.cancel(first.reservation);
    expect(world.reserve({ requestId: "r1" }).state).toBe("cancelled");
    expect(world.inFlight("a").count).toBe(0);
  });

  test("with another demand it is a conflict", () => {
    const world = worldWithNode();
    world.reserve({ requestId: "r1" });
    for (const other of [{ cpu: 2 }, { memoryGib: 2 }, { hint: "new_sandbox" }, { managed: false }] as const) {
      expect(world.refusal(world.request({ requestId: "r1", ...other })).code).toBe("conflict");
    }
  });

  test("is scoped to the credential that sent it", () => {
    const world = worldWithNode();
    const one = world.reserve({ requestId: "r1", credential: "one" });
    expect(world.reserve({ requestId: "r1", credential: "two", cpu: 2 }).id).not.toBe(one.id);
  });
});

describe("4. undelivered answers", () => {
  test("cancelled without a request_id, uncertain with one", () => {
    const world = worldWithNode();
    const anonymous = world.reserve();
    const named = world.reserve({ requestId: "r1" });
    for (const { id } of [anonymous, named]) world.ask({ type: "delivery_failed", reservationId: id });
    expect(world.get(anonymous)).toMatchObject({ state: "cancelled", reason: "undelivered" });
    expect(world.get(named)).toMatchObject({ state: "pending", uncertain: true });
  });

  test("one that is no longer pending stays as it is, an unknown one is nothing", () => {
    const world = worldWithNode();
    const reservation = world.confirm(world.reserve(), "s1");
    world.ask({ type: "delivery_failed", reservationId: reservation.id });
    world.ask({ type: "delivery_failed", reservationId: "rs_none" });
    expect(world.state(reservation)).toBe("confirmed");
  });
});

describe("4. retention", () => {
  test("ended ones are remembered for reservationRetention, live ones for ever", () => {
    const world = worldWithNode({ maxReservationAgeMs: 1e12, placementReservationTtlMs: 1e12 });
    const ended = world.cancel(world.reserve({ requestId: "r1" }));
    const live = world.reserve();
    world.event("a", "DELETE", "gone");
    world.pass(3_599_999);
    world.tick();
    expect(world.state(ended)).toBe("cancelled");
    world.pass(1_000);
    world.tick();
    expect(world.refusal({ type: "get_reservation", handle: ended.id }).code).toBe("not_found");
    expect(world.refusal({ type: "cancel", handle: ended.token ?? "", reason: null }).code).toBe("not_found");
    expect(world.state(live)).toBe("pending");
    expect(world.reserve({ requestId: "r1", cpu: 3 }).state).toBe("pending");
    expect(world.placement.core.ledger.named.size).toBe(0);
  });

  test("at most so many, the longest ended first", () => {
    const world = worldWithNode({ rememberedMax: 3 });
    const ended = Array.from({ length: 5 }, () => world.cancel(world.reserve()));
    const known = ended.map(({ id }) => world.placement.core.ledger.reservations.get(id) !== undefined);
    expect(known).toEqual([false, false, true, true, true]);
  });
});

describe("lists", () => {
  test("by node and state, in the order in which they were made, page by page", () => {
    const world = worldWithNode();
    world.report("b");
    const made = Array.from({ length: 5 }, () => world.reserve({ excludeNodeIds: ["b"] }));
    const other = world.reserve({ excludeNodeIds: ["a"] });
    const [first] = made;
    if (first !== undefined) world.confirm(first, "s1");
    const list = (nodeId: string | null, limit: number, cursor: string | null, state: "confirmed" | null = null) =>
      world.ask({ type: "list_reservations", nodeId, state, limit, cursor });
    const one = list("a", 3, null);
    const two = list("a", 3, one.cursor);
    expect([...one.reservations, ...two.reservations].map(({ id }) => id)).toEqual(made.map(({ id }) => id));
    expect(two.cursor).toBeNull();
    expect(list("b", 9, null).reservations.map(({ id }) => id)).toEqual([other.id]);
    expect(list(null, 9, null, "confirmed").reservations.map(({ id }) => id)).toEqual([first?.id]);
  });

  test.each([["x"], ["0x5"], ["-5"], ["5e0"], ["05"], ["1.5"], ["9007199254740992"]])(
    "a cursor that no list comes with is refused: %s",
    (cursor) => {
      const refusal = new World().refusal({ type: "list_reservations", nodeId: null, state: null, limit: 1, cursor });
      expect(refusal).toMatchObject({ code: "invalid_argument", details: { field: "cursor" } });
    },
  );
});

test("memory is charged beside CPU", () => {
  const world = worldWithNode();
  world.reserve({ memoryGib: 64 });
  expect(world.inFlight("a").memoryBytes).toBe(64 * GIB);
  expect(world.reasons()).toEqual({ "insufficient memory in flight": 1 });
});
