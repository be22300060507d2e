/** The gateway's `/metrics`. */
import { Counter, Gauge, Histogram, Registry } from "prom-client";

export type ClosingCall = "confirm" | "cancel" | "uncertain" | "release" | "record";

/** How a create ended for its client. */
export type CreateEnd =
  | "created"
  | "destroyed"
  | "refused"
  | "failed"
  | "client_error"
  | "uncertain"
  | "client_gone"
  | "unscheduled";

export interface GatewayMetrics {
  readonly contentType: string;
  text(): Promise<string>;
  created(end: CreateEnd, durationMs: number): void;
  attempted(verdict: string, reason: string): void;
  closed(call: ClosingCall, result: string): void;
  answered(route: string, status: number): void;
}

export interface GatewayGauges {
  readonly createsRunning: () => number;
  readonly closingsPostponed: () => number;
  readonly upgradesOpen: () => number;
}

/** From a node that refuses at once to the longest create. */
const CREATE_BUCKETS_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 90];
const CONFIRM_RESULTS = ["confirmed", "postponed", "unknown", "conflict", "expired", "failed"];

export function createGatewayMetrics(gauges: GatewayGauges): GatewayMetrics {
  const registry = new Registry();
  const registers = [registry];
  const creates = new Histogram({
    name: "evenkeel_gateway_create_duration_seconds",
    help: "Time of a create from its head to its answer's, by how it ended for the client.",
    labelNames: ["result"],
    buckets: CREATE_BUCKETS_S,
    registers,
  });
  const attempts = new Counter({
    name: "evenkeel_gateway_attempts_total",
    help: "Creates sent to a node, by what its answer means; one create has several when nodes refuse it.",
    labelNames: ["verdict", "reason"],
    registers,
  });
  const closings = new Counter({
    name: "evenkeel_gateway_closings_total",
    help: "Calls that close a reservation; of a confirm: unknown is the scheduler's 404, conflict its 409, expired its 410.",
    labelNames: ["call", "result"],
    registers,
  });
  for (const result of CONFIRM_RESULTS) closings.inc({ call: "confirm", result }, 0);
  const requests = new Counter({
    name: "evenkeel_gateway_requests_total",
    help: "Requests answered, by route and class of status.",
    labelNames: ["route", "status"],
    registers,
  });
  addGauge(registry, "creates_running", "Creates that have no answer yet.", gauges.createsRunning);
  addGauge(registry, "closings_postponed", "Closing calls repeated in the background.", gauges.closingsPostponed);
  addGauge(registry, "upgrades_open", "Upgraded connections that are open.", gauges.upgradesOpen);
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    created: (result, durationMs) => creates.observe({ result }, durationMs / 1000),
    attempted: (verdict, reason) => attempts.inc({ verdict, reason }),
    closed: (call, result) => closings.inc({ call, result }),
    answered: (route, status) => requests.inc({ route, status: `${Math.trunc(status / 100)}xx` }),
  };
}

function addGauge(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name: `evenkeel_gateway_${name}`,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}
