import { z } from "zod";
import { findStrategy, STRATEGY_NAMES } from "../actors/placement/ranking/strategy.ts";
import { byteSize, countBetween, cpuAmount } from "../messages/amounts.ts";
import { durationBetween, numberFrom, oneOf, refuse, show, textNamed } from "../messages/settings.ts";
import { ADMISSIONS } from "../simulation/simulation.ts";
import type { Values } from "./options.ts";

/** What a machine with 2 GiB can hold of sandboxes that never end. */
const REQUESTS_MOST = 1_000_000;
const RATE_LEAST = 0.001;

/** The strategies of a name or of `all`, in the order of the table. */
const strategies: z.ZodType<readonly string[], unknown> = z.unknown().transform((given, context) => {
  const name = String(given).trim().toLowerCase();
  if (name === "all") return STRATEGY_NAMES;
  const strategy = findStrategy(name);
  if (strategy !== undefined) return [strategy.name];
  return refuse(context, `${show(given)} is not one of all, ${STRATEGY_NAMES.join(", ")}`);
});

export const SIMULATE_SETTINGS = {
  fleet: {
    key: "fleet",
    value: "FILE",
    help: 'the nodes, as JSON: {"nodes": [{"node_id": "a", "cpu": 16, "memory": "32GiB"}]}',
    schema: textNamed("a path of a fleet file"),
  },
  requests: {
    key: "requests",
    value: "N",
    help: "how many sandboxes are asked for",
    shownDefault: "300",
    schema: countBetween(1, REQUESTS_MOST).default(300),
  },
  cpuMillicores: {
    key: "cpu",
    value: "CPUS",
    help: "CPUs of each sandbox",
    shownDefault: "2",
    schema: cpuAmount.default(2000),
  },
  memoryBytes: {
    key: "memory",
    value: "SIZE",
    help: "memory of each sandbox",
    shownDefault: "4GiB",
    schema: byteSize().default(4 * 2 ** 30),
  },
  strategies: {
    key: "strategy",
    value: "NAME",
    help: `all, ${STRATEGY_NAMES.join(", ")}`,
    shownDefault: "all",
    schema: strategies.default(STRATEGY_NAMES),
  },
  admission: {
    key: "admission",
    value: "RULE",
    help: "capacity, or none: full nodes stay candidates, so that only the ranking shows",
    shownDefault: "capacity",
    schema: oneOf(ADMISSIONS).default("capacity"),
  },
  heartbeatIntervalMs: {
    key: "heartbeat_interval",
    value: "DURATION",
    help: "time between two reports of a node; without it nodes report once, at the start",
    schema: durationBetween(100, 300_000).nullable().default(null),
  },
  lifetimeMs: {
    key: "lifetime",
    value: "DURATION",
    help: "mean life of a sandbox; without it none ever ends",
    schema: durationBetween(1, 30 * 86_400_000)
      .nullable()
      .default(null),
  },
  ratePerSecond: {
    key: "rate",
    value: "PER_SECOND",
    help: "mean number of requests per second of virtual time",
    shownDefault: "10",
    schema: numberFrom(RATE_LEAST).default(10),
  },
  seed: {
    key: "seed",
    value: "N",
    help: "same seed, same output",
    shownDefault: "1",
    schema: countBetween(0, 2 ** 32 - 1).default(1),
  },
} as const;

export type SimulateSettings = Values<typeof SIMULATE_SETTINGS>;
