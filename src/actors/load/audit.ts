/**
 * What clients were told against what the scheduler reports. Each invariant is a checker of its own: a pure function
 * from the evidence to what violates it, in words that name the node, the request and the amounts.
 *
 * The evidence is taken at rest: no request in flight, and reports enough that every confirmed sandbox is settled. What
 * the scheduler charges is then exactly what the clients hold.
 */
import { type ClientRecord, type GrantedRecord, isGranted } from "./records.ts";

/** A synthetic node as the scheduler shows it. */
export interface NodeEvidence {
  readonly nodeId: string;
  readonly capacity: Charge;
  /** Reported by the node, and in flight on top of it. */
  readonly projected: Charge;
  readonly inFlight: Charge & { readonly count: number };
}

export interface Charge {
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
}

/** A live reservation as the scheduler lists it. */
export interface ReservationEvidence {
  readonly id: string;
  readonly nodeId: string;
  readonly state: string;
}

export interface Evidence {
  readonly records: readonly ClientRecord[];
  readonly nodes: readonly NodeEvidence[];
  /** Those of the synthetic nodes. */
  readonly live: readonly ReservationEvidence[];
  /** Public ids that this run itself has cancelled as an operator would. */
  readonly cancelledById: ReadonlySet<string>;
  /** Wall times of this machine before and after the scheduler was asked. */
  readonly askedAtWallMs: number;
  readonly answeredAtWallMs: number;
}

export interface Invariant {
  readonly name: string;
  /** In words, as it holds. */
  readonly promise: string;
  readonly check: (evidence: Evidence) => string[];
}

/** How long after its lease a reservation may still be shown: 1 s is promised. */
const EXPIRY_SHOWS_WITHIN_MS = 1_000;

const withinCapacity: Invariant = {
  name: "within_capacity",
  promise: "no node is charged past its capacity",
  check: (evidence) => {
    const held = heldByNode(evidence);
    return evidence.nodes.flatMap(({ nodeId, capacity, projected }) => [
      ...excess(`${nodeId} is charged`, projected, capacity),
      ...excess(`${nodeId} was promised to clients`, held.get(nodeId)?.least ?? NOTHING, capacity),
    ]);
  },
};

const tokensUnique: Invariant = {
  name: "tokens_unique",
  promise: "no token is seen twice, and a repeat gets the token of the first",
  check: ({ records }) => {
    const holders = new Map<string, number>();
    return records.filter(isGranted).flatMap(({ number, grant, repeat }) => {
      const violations: string[] = [];
      for (const name of [grant.token, grant.id]) {
        const other = holders.get(name);
        if (other !== undefined) violations.push(`requests ${other} and ${number} were both given ${shown(name)}`);
        holders.set(name, number);
      }
      if (repeat !== null && repeat.token !== grant.token) {
        violations.push(`request ${number} was repeated and given ${shown(repeat.token)} beside ${shown(grant.token)}`);
      }
      return violations;
    });
  },
};

const chargesExplained: Invariant = {
  name: "charges_explained",
  promise: "every charge is explained by a client",
  check: (evidence) => {
    const known = new Map(evidence.records.filter(isGranted).map((record) => [record.grant.id, record]));
    const strays = evidence.live.flatMap(({ id, nodeId, state }) => {
      const why = notExplained(known.get(id), evidence);
      return why === null ? [] : [`${id} on ${nodeId} is ${state}, but ${why}`];
    });
    const held = heldByNode(evidence);
    const charges = evidence.nodes.flatMap(({ nodeId, projected }) =>
      excess(`${nodeId} is charged`, projected, held.get(nodeId)?.most ?? NOTHING, "its clients hold"),
    );
    return [...strays, ...charges];
  },
};

const chargesComplete: Invariant = {
  name: "charges_complete",
  promise: "no charge is missing",
  check: (evidence) => {
    const live = new Set(evidence.live.map(({ id }) => id));
    const lost = evidence.records
      .filter(isGranted)
      .filter(
        (record) => record.end === "abandoned" && certainlyPending(record, evidence) && !live.has(record.grant.id),
      )
      .map(({ number, grant }) => `request ${number} holds ${grant.id} on ${grant.nodeId}, which is not live`);
    const held = heldByNode(evidence);
    const shortfalls = evidence.nodes.flatMap(({ nodeId, projected }) =>
      excess(`clients hold on ${nodeId}`, held.get(nodeId)?.least ?? NOTHING, projected, "it is charged"),
    );
    return [...lost, ...shortfalls];
  },
};

const answersClear: Invariant = {
  name: "answers_clear",
  promise: "every request had a clear answer",
  check: ({ records }) =>
    records.flatMap((record) => {
      if (record.outcome === "unclear") return [`request ${record.number}: ${record.why}`];
      if (record.outcome !== "granted" || record.why === null) return [];
      return [`request ${record.number}, ${record.grant.id}: ${record.why}`];
    }),
};

const inFlightZero: Invariant = {
  name: "in_flight_zero",
  promise: "nothing is in flight once all is settled, cancelled or expired",
  check: ({ nodes, live }) => [
    ...nodes
      .filter(({ inFlight: { cpuMillicores, memoryBytes, count } }) => cpuMillicores + memoryBytes + count > 0)
      .map(({ nodeId, inFlight }) => `${nodeId} has ${inFlight.count} in flight: ${amounts(inFlight)}`),
    ...live.map(({ id, nodeId, state }) => `${id} on ${nodeId} is still ${state}`),
  ],
};

/** What each restart of a scheduler that was killed is held to; judged by whoever kills it. */
export const promisesKept: Omit<Invariant, "check"> = {
  name: "promises_kept",
  promise: "what clients were told before a kill holds after it",
};

/** What holds at rest while abandoned reservations still have their lease. */
export const INVARIANTS_UNDER_LOAD: readonly Invariant[] = [
  withinCapacity,
  tokensUnique,
  chargesExplained,
  chargesComplete,
  answersClear,
];

/** What holds when the last lease is over too. */
export const INVARIANTS_AT_END: readonly Invariant[] = [...INVARIANTS_UNDER_LOAD, inFlightZero];

export interface Finding {
  readonly invariant: Omit<Invariant, "check">;
  readonly violations: readonly string[];
}

/** One finding per invariant; it holds when it has no violations. */
export function audit(invariants: readonly Invariant[], evidence: Evidence): Finding[] {
  return invariants.map((invariant) => ({ invariant, violations: invariant.check(evidence) }));
}

const NOTHING: Charge = { cpuMillicores: 0, memoryBytes: 0 };

/** What clients hold on a node: surely, and at most, where a lease may or may not be over or an answer was unclear. */
interface Held {
  readonly least: Charge;
  readonly most: Charge;
}

function heldByNode(evidence: Evidence): Map<string, Held> {
  const held = new Map<string, Held>();
  for (const record of evidence.records.filter(isGranted)) {
    const { nodeId } = record.grant;
    const { least, most } = held.get(nodeId) ?? { least: NOTHING, most: NOTHING };
    held.set(nodeId, {
      least: certainlyHeld(record, evidence) ? plus(least, record.grant) : least,
      most: possiblyHeld(record, evidence) ? plus(most, record.grant) : most,
    });
  }
  return held;
}

function certainlyHeld(record: GrantedRecord, evidence: Evidence): boolean {
  return record.end === "confirmed" || (record.end === "abandoned" && certainlyPending(record, evidence));
}

function possiblyHeld(record: GrantedRecord, evidence: Evidence): boolean {
  return notExplained(record, evidence) === null;
}

function certainlyPending({ grant }: GrantedRecord, { cancelledById, answeredAtWallMs }: Evidence): boolean {
  return !cancelledById.has(grant.id) && answeredAtWallMs < grant.leaseEndsAtWallMsLeast;
}

/** Why nothing can be charged for it any more; null when something can. */
function notExplained(record: GrantedRecord | undefined, { cancelledById, askedAtWallMs }: Evidence): string | null {
  if (record === undefined) return "no client was given it";
  const { number, grant, end } = record;
  if (cancelledById.has(grant.id)) return `this run has cancelled it by id (request ${number})`;
  if (end === "cancelled" || end === "expired") return `its client was told that it is ${end} (request ${number})`;
  if (end === "abandoned" && askedAtWallMs > grant.leaseEndsAtWallMsMost + EXPIRY_SHOWS_WITHIN_MS) {
    return `its lease is over (request ${number})`;
  }
  return null;
}

function plus(left: Charge, right: Charge): Charge {
  return {
    cpuMillicores: left.cpuMillicores + right.cpuMillicores,
    memoryBytes: left.memoryBytes + right.memoryBytes,
  };
}

function excess(what: string, charge: Charge, bound: Charge, whose = "its capacity is"): string[] {
  const over = charge.cpuMillicores > bound.cpuMillicores || charge.memoryBytes > bound.memoryBytes;
  return over ? [`${what} ${amounts(charge)}, but ${whose} ${amounts(bound)}`] : [];
}

function amounts({ cpuMillicores, memoryBytes }: Charge): string {
  return `${cpuMillicores / 1000} CPUs and ${memoryBytes / 2 ** 20} MiB`;
}

/** Logs and reports carry no more of a token than its first 8 characters; a public id is shown whole. */
function shown(name: string): string {
  return name.startsWith("rt_") ? `${name.slice(0, 8)}…` : name;
}
