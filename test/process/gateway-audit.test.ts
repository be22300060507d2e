/**
 * 500 creates at once, a quarter of them each made, definitely not made, lost, and left by their clients. What the
 * clients were told is held against what the scheduler reports, with the audit of `evenkeel load`.
 */
import { expect, test } from "vitest";
import {
  audit,
  type Evidence,
  INVARIANTS_AT_END,
  INVARIANTS_UNDER_LOAD,
  type NodeEvidence,
} from "../../src/actors/load/audit.ts";
import type { ClientRecord, Grant } from "../../src/actors/load/records.ts";
import type { WireNode } from "../../src/messages/http/node.ts";
import type { WireReservation } from "../../src/messages/http/reservation.ts";
import { systemClock } from "../../src/ports/clock.ts";
import { GatewayWorld } from "./gateway-world.ts";

const REQUESTS = 500;
const NODES = ["node-a", "node-b", "node-c"];
/** One kind of each per four requests, in turn. */
const DEFINITE = ["500", "400", "503", "429"];
const LOST = ["reset", "502", "408", "503-via"];
const MIB = 2 ** 20;

/** What one client was told. */
type Told =
  | { readonly told: "created"; readonly sandboxId: string; readonly nodeId: string }
  | { readonly told: "not created" }
  | { readonly told: "unknown"; readonly nodeId: string }
  | { readonly told: "nothing" };

/** Names the request: no two are of one size. */
const memoryMibOf = (number: number): number => 1_024 + number;

const stubOf = (number: number): string => {
  const turn = Math.floor(number / 4) % 4;
  return ["201", DEFINITE[turn], LOST[turn], "held"][number % 4] ?? "201";
};

async function create(world: GatewayWorld, number: number, leave: AbortSignal): Promise<Told> {
  const body = { cpuCount: 1, memoryMB: memoryMibOf(number) };
  const leaves = number % 4 === 3 ? { signal: leave } : {};
  const response = await world.create(stubOf(number), { body, ...leaves }).catch(() => null);
  if (response === null) return { told: "nothing" };
  const answer = (await response.json()) as {
    node?: string;
    error?: { details: { outcome?: string; node_id: string } };
  };
  const sandboxId = response.headers.get("x-agentenv-sandbox-id");
  if (response.status === 201 && sandboxId !== null) {
    return { told: "created", sandboxId, nodeId: answer.node ?? "" };
  }
  const { details } = answer.error ?? {};
  return details?.outcome === "unknown" ? { told: "unknown", nodeId: details.node_id } : { told: "not created" };
}

/** A client's word as the audit reads it. The public id comes from the scheduler; size and node from the client. */
function recordOf(number: number, told: Told, reservations: readonly WireReservation[]): ClientRecord {
  if (told.told === "not created") return { number, outcome: "refused", code: "not created" };
  const memoryBytes = memoryMibOf(number) * MIB;
  const own = reservations.filter((each) =>
    told.told === "created" ? each.sandbox_id === told.sandboxId : each.memory_bytes === memoryBytes,
  );
  const [reservation] = own;
  if (reservation === undefined || own.length !== 1) {
    return { number, outcome: "unclear", why: `${own.length} reservations stand for it` };
  }
  const ends = Date.parse(reservation.expires_at ?? reservation.created_at);
  const grant: Grant = {
    // Clients of a gateway see no tokens.
    token: `rt_ of ${reservation.id}`,
    id: reservation.id,
    nodeId: told.told === "nothing" ? reservation.node_id : told.nodeId,
    cpuMillicores: 1_000,
    memoryBytes,
    leaseEndsAtWallMsLeast: ends,
    leaseEndsAtWallMsMost: ends,
  };
  const end = told.told === "created" ? "confirmed" : "abandoned";
  return { number, outcome: "granted", grant, repeat: null, end, why: null };
}

function nodeEvidence({ node_id, capacity, projected, in_flight }: WireNode): NodeEvidence {
  const charge = (amount: { cpu: number | null; memory_bytes: number | null }) => ({
    cpuMillicores: (amount.cpu ?? 0) * 1_000,
    memoryBytes: amount.memory_bytes ?? 0,
  });
  return {
    nodeId: node_id,
    capacity: charge(capacity),
    projected: charge(projected),
    inFlight: { ...charge(in_flight), count: in_flight.count },
  };
}

async function evidenceOf(world: GatewayWorld, told: readonly Told[], cancelled: readonly string[]): Promise<Evidence> {
  const askedAtWallMs = systemClock.wallMs();
  const reservations = await world.reservations();
  const { body } = await world.scheduler.call<{ nodes: WireNode[] }>("GET", "/v1/nodes");
  return {
    records: told.map((each, number) => recordOf(number, each, reservations)),
    nodes: body.nodes.map(nodeEvidence),
    live: reservations
      .filter(({ state }) => state === "pending" || state === "confirmed")
      .map(({ id, node_id, state }) => ({ id, nodeId: node_id, state })),
    cancelledById: new Set(cancelled),
    askedAtWallMs,
    answeredAtWallMs: systemClock.wallMs(),
  };
}

const violations = (invariants: typeof INVARIANTS_AT_END, evidence: Evidence): string[] =>
  audit(invariants, evidence).flatMap((finding) => finding.violations);

test("what clients were told is what the scheduler holds", { timeout: 120_000 }, async () => {
  await using world = await GatewayWorld.start({
    nodes: NODES,
    cpuCount: 256,
    schedulerArgs: ["--uncertain-ttl", "2m"],
  });
  const leave = new AbortController();
  const creates = Array.from({ length: REQUESTS }, (_, number) => create(world, number, leave.signal));
  await expect
    .poll(
      async () => {
        const held = await Promise.all(world.nodes.map((node) => node.held()));
        return held.reduce((sum, each) => sum + each, 0);
      },
      { timeout: 60_000 },
    )
    .toBe(REQUESTS / 4);
  leave.abort();
  const told = await Promise.all(creates);
  for (const gauge of ["creates_running", "closings_postponed"]) {
    await expect.poll(() => world.metric(`evenkeel_gateway_${gauge}`), { timeout: 20_000 }).toBe(0);
  }
  await world.settle();

  const count = (what: Told["told"]): number => told.filter((each) => each.told === what).length;
  expect(["created", "not created", "unknown", "nothing"].map((what) => count(what as Told["told"]))).toEqual(
    Array.from({ length: 4 }, () => REQUESTS / 4),
  );
  const reservations = await world.reservations();
  const inState = (state: string): WireReservation[] => reservations.filter((each) => each.state === state);
  expect(inState("settled")).toHaveLength(REQUESTS / 4);
  expect(inState("pending").filter(({ uncertain }) => uncertain)).toHaveLength(REQUESTS / 2);
  const definite = ["refused", "failed", "client_error"].map((reason) =>
    world.metric(`evenkeel_gateway_attempts_total{verdict="definite",reason="${reason}"}`),
  );
  const failedAttempts = (await Promise.all(definite)).reduce((sum, each) => sum + each, 0);
  expect(failedAttempts).toBeGreaterThan(REQUESTS / 4);
  expect(inState("cancelled")).toHaveLength(failedAttempts);
  expect(violations(INVARIANTS_UNDER_LOAD, await evidenceOf(world, told, []))).toEqual([]);

  // Their leases end by themselves; an operator who knows better need not wait.
  const before = await evidenceOf(world, told, []);
  const uncertain = inState("pending").map(({ id }) => id);
  await Promise.all(uncertain.map((id) => world.scheduler.call("POST", `/v1/reservations/${id}/cancel`, {})));
  const after = { ...(await evidenceOf(world, told, uncertain)), records: before.records };
  expect(violations(INVARIANTS_AT_END, after)).toEqual([]);
  expect(await world.inFlight()).toEqual({ pending: 0, confirmed: 0 });
});
