/** The scheduler's `/metrics`: counters that follow what actors tell, and gauges that are read when somebody looks. */
import type { EventEmitter } from "eventemitter3";
import { Counter, Gauge, Registry } from "prom-client";
import type { ErrorCode } from "../../messages/errors.ts";
import type { DirectoryEvents } from "../directory/client.ts";
import type { KernelEvents } from "../kernel/cell.ts";
import type { ActorSystem } from "../kernel/system.ts";
import type { PlacementClient, PlacementEvents } from "../placement/client.ts";
import { addFleetMetrics } from "./fleet-metrics.ts";
import { addReservationMetrics } from "./reservation-metrics.ts";
import { type Observations, TallyCounter, TallyHistogram } from "./tally.ts";

export interface MetricsSources {
  /** The configured one; labels of schedule metrics. */
  readonly strategy: string;
  readonly placement: PlacementClient;
  readonly placementEvents: EventEmitter<PlacementEvents>;
  readonly directoryEvents: EventEmitter<DirectoryEvents>;
  readonly system: Pick<ActorSystem, "status"> & { readonly events: EventEmitter<KernelEvents> };
}

export interface Metrics {
  readonly contentType: string;
  /** `byNode`: reservations by node, however many nodes there are. */
  text(request: { readonly byNode: boolean }): Promise<string>;
}

// Decisions take microseconds, commits milliseconds, an overloaded mailbox seconds.
const DURATION_BUCKETS_S = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10,
];

/** The closed list of why a node is no candidate; `limit` comes with the name of the limit. */
const REJECTION_REASONS = [
  "insufficient cpu",
  "insufficient cpu in flight",
  "insufficient memory",
  "insufficient memory in flight",
  "cordoned",
  "unhealthy",
  "lingering",
  "awaited",
  "excluded",
  "no endpoint",
  "ledger",
  "too many reservations",
];

export function createMetrics(sources: MetricsSources): Metrics {
  const registry = new Registry();
  addScheduleMetrics(registry, sources);
  addReservationMetrics(registry, sources, DURATION_BUCKETS_S);
  addActorMetrics(registry, sources);
  const collectFleet = addFleetMetrics(registry, sources.placement);
  const duplicates = new Counter({
    name: "evenkeel_duplicate_sandboxes_total",
    help: "Sandboxes that two nodes were found to list at a time.",
    registers: [registry],
  });
  sources.directoryEvents.on("duplicate", () => duplicates.inc());
  return {
    contentType: registry.contentType,
    async text({ byNode }) {
      await collectFleet(byNode);
      return registry.metrics();
    },
  };
}

function addScheduleMetrics(registry: Registry, { strategy, placement }: MetricsSources): void {
  const registers = [registry];
  const duration = new TallyHistogram<"strategy" | "status">({
    name: "evenkeel_schedule_duration_seconds",
    help: "Time of a schedule in mailbox, decision and commit; status is ok or the code of the refusal.",
    buckets: DURATION_BUCKETS_S,
    registry,
  });
  const assignments = new TallyCounter({
    name: "evenkeel_schedule_assignments_total",
    help: "Schedules that chose a node; not those that were answered with what an earlier one of their request_id chose.",
    labelNames: ["strategy"],
    registers,
  });
  const rejections = new Counter({
    name: "evenkeel_capacity_rejections_total",
    help: "Schedules refused with no_nodes, once for each reason that dropped a node.",
    labelNames: ["reason"],
    registers,
  });
  for (const reason of REJECTION_REASONS) rejections.inc({ reason }, 0);
  const ok = duration.series({ strategy, status: "ok" });
  const refused = new Map<ErrorCode, Observations>();
  const assigned = assignments.series({ strategy });
  placement.events.on("answered", ({ message, reply, durationMs }) => {
    if (message.type !== "schedule") return;
    if (reply.ok) {
      ok.observe(durationMs / 1000);
      if (!("repeated" in reply.answer && reply.answer.repeated === true)) assigned.add();
      return;
    }
    const { code, details } = reply.refusal;
    let series = refused.get(code);
    if (series === undefined) {
      series = duration.series({ strategy, status: code });
      refused.set(code, series);
    }
    series.observe(durationMs / 1000);
    if (code !== "no_nodes") return;
    for (const reason of Object.keys((details.reasons ?? {}) as object)) rejections.inc({ reason });
  });
}

function addActorMetrics(registry: Registry, { system, placementEvents }: MetricsSources): void {
  const registers = [registry];
  new Gauge({
    name: "evenkeel_mailbox_depth",
    help: "Messages that wait in an actor's mailbox or are being handled.",
    labelNames: ["actor"],
    registers,
    collect() {
      for (const { actor, depth } of system.status()) {
        this.set({ actor }, depth);
        // The two below have a series of each actor, also of those that are made after them, before anything happens.
        rejected.inc({ actor }, 0);
        failures.inc({ actor }, 0);
      }
    },
  });
  const rejected = new Counter({
    name: "evenkeel_mailbox_rejected_total",
    help: "Messages refused because a mailbox was full, or too many decisions waited for the log.",
    labelNames: ["actor"],
    registers,
  });
  const failures = new Counter({
    name: "evenkeel_actor_failures_total",
    help: "Messages whose handling failed, and actors that died.",
    labelNames: ["actor"],
    registers,
  });
  system.events.on("refused", ({ actor, count }) => rejected.inc({ actor }, count));
  // Past the mailbox, but refused for the same reason: the caller cannot tell the two apart, and need not.
  placementEvents.on("overloaded", () => rejected.inc({ actor: "placement" }));
  system.events.on("failed", ({ actor }) => failures.inc({ actor }));
  // The placement core answers for what its handlers throw, so the kernel never sees it.
  placementEvents.on("committed", ({ notices }) => {
    for (const { type } of notices) if (type === "handler_failed") failures.inc({ actor: "placement" });
  });
}
