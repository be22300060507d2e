/** Counters of what became of reservations. */
import { Counter, type Registry } from "prom-client";
import type { PlacementMessage, Reply } from "../../messages/placement.ts";
import type { Change, Notice, PlacementEvent } from "../placement/client.ts";
import type { MetricsSources } from "./metrics.ts";
import { type Observations, TallyCounter, TallyHistogram } from "./tally.ts";

/** The transition that a question asks for. */
const ASKED: Readonly<Partial<Record<PlacementMessage["type"], string>>> = {
  schedule: "reserve",
  confirm: "confirm",
  cancel: "cancel",
  renew: "renew",
  uncertain: "uncertain",
};

/** The transition that an event says has happened, asked for or not. */
const HAPPENED: Readonly<Partial<Record<Change["type"], string>>> = {
  reserved: "reserve",
  confirmed: "confirm",
  cancelled: "cancel",
  renewed: "renew",
  marked_uncertain: "uncertain",
  expired: "expire",
  settled: "settle",
  released: "release",
};

/** Ends of a life, by the state that they lead to. */
const ENDS = ["cancelled", "expired", "settled", "released"] as const;

/** From a create that fails at once to the longest a reservation can be held. */
const AGE_BUCKETS_S = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];

export function addReservationMetrics(
  registry: Registry,
  sources: MetricsSources,
  durationBuckets: readonly number[],
): void {
  const registers = [registry];
  const transitions = new TallyCounter({
    name: "evenkeel_reservation_transitions_total",
    help: "Transitions of reservations that happened (ok) or were asked for in vain.",
    labelNames: ["transition", "result"],
    registers,
  });
  const durations = new TallyHistogram<"transition">({
    name: "evenkeel_reservation_transition_duration_seconds",
    help: "Time of a call that moves a reservation in mailbox, decision and commit.",
    buckets: durationBuckets,
    registry,
  });
  const happened = mapValues(HAPPENED, (transition) => transitions.series({ transition, result: "ok" }));
  const inVain = mapValues(ASKED, (transition) => ({
    replay: transitions.series({ transition, result: "replay" }),
    conflict: transitions.series({ transition, result: "conflict" }),
    not_found: transitions.series({ transition, result: "not_found" }),
  }));
  const duration = mapValues(ASKED, (transition) => durations.series({ transition }));
  sources.placement.events.on("answered", ({ message, reply, durationMs }) => {
    if (message.type === "schedule" && message.hint === "none") return;
    duration[message.type]?.observe(durationMs / 1000);
    const result = resultOf(reply);
    if (result !== null) inVain[message.type]?.[result].add();
  });

  const count = countEvents(registry);
  sources.placementEvents.on("committed", ({ events, notices }) => {
    for (const event of events) {
      happened[event.change.type]?.add();
      count.event(event);
    }
    for (const notice of notices) count.notice(notice);
  });
}

function mapValues<Key extends string, From, To>(
  record: Readonly<Partial<Record<Key, From>>>,
  map: (value: From) => To,
): Readonly<Partial<Record<Key, To>>> {
  const entries = Object.entries<From>(record as Readonly<Record<Key, From>>);
  return Object.fromEntries(entries.map(([key, value]) => [key, map(value)])) as Partial<Record<Key, To>>;
}

/** Null: it happened, which its event counts; or it never reached the reservation. */
function resultOf(reply: Reply<object>): "replay" | "conflict" | "not_found" | null {
  if (reply.ok) return "repeated" in reply.answer && reply.answer.repeated === true ? "replay" : null;
  const { code } = reply.refusal;
  if (code === "not_found") return "not_found";
  return code === "conflict" || code === "expired" ? "conflict" : null;
}

function countEvents(registry: Registry): { event(event: PlacementEvent): void; notice(notice: Notice): void } {
  const registers = [registry];
  const ages = new TallyHistogram<"state">({
    name: "evenkeel_reservation_age_seconds",
    help: "Age of reservations at the end of their life, by the state that it ended in.",
    buckets: AGE_BUCKETS_S,
    registry,
  });
  const agesAtEnd: Partial<Record<Change["type"], Observations>> = {};
  for (const state of ENDS) agesAtEnd[state] = ages.series({ state });
  const counter = (name: string, help: string): Counter => new Counter({ name: `evenkeel_${name}`, help, registers });
  const expired = counter("reservations_expired_total", "Reservations whose lease ended.");
  const orphaned = counter(
    "orphaned_confirmations_total",
    "Confirmed reservations whose sandbox no roster ever listed.",
  );
  const late = counter("late_confirmations_total", "Confirms that came after the lease or after an orphan end.");
  const conflicts = counter("node_identity_conflicts_total", "Older instances that reported again after a newer one.");
  /** When each live one was made; those that ended are out, so it is bounded by what the ledger may hold. */
  const madeAtWallMs = new Map<string, number>();
  return {
    event({ wallMs, change }) {
      if (change.type === "reserved") madeAtWallMs.set(change.terms.id, wallMs);
      if (change.type === "expired" && change.reason === "lease") expired.inc();
      const agesHere = agesAtEnd[change.type];
      if (agesHere === undefined || !("id" in change)) return;
      const madeAt = madeAtWallMs.get(change.id);
      // A late one has ended once already.
      if (madeAt === undefined) return;
      madeAtWallMs.delete(change.id);
      agesHere.observe(Math.max(0, wallMs - madeAt) / 1000);
    },
    notice(notice) {
      if (notice.type === "late_confirmation") late.inc();
      else if (notice.type === "orphaned_confirmation") orphaned.inc();
      else if (notice.type === "identity_conflict") conflicts.inc();
    },
  };
}
