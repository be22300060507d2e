import { byteSize, countBetween, share } from "../messages/amounts.ts";
import { durationBetween, numberFrom, textNamed } from "../messages/settings.ts";
import type { Values } from "./options.ts";

/** What the process of a small machine holds in sockets, records and rosters. */
const MOST = { requests: 1_000_000, nodes: 5_000, concurrency: 10_000, workers: 64 };
const UINT32_MAX = 2 ** 32 - 1;
const MIB = 2 ** 20;
const GIB = 2 ** 30;

export const LOAD_SETTINGS = {
  nodes: {
    key: "nodes",
    value: "N",
    help: "synthetic nodes that are registered for the run",
    shownDefault: "50, or all that --node-tokens names",
    schema: countBetween(1, MOST.nodes).nullable().default(null),
  },
  nodeTokens: {
    key: "node_tokens",
    value: "FILE",
    help: 'their names and tokens, a line "node NAME TOKEN" of each, where the scheduler asks for tokens',
    schema: textNamed("a path").nullable().default(null),
  },
  nodeCpuCount: {
    key: "node_cpu",
    value: "CPUS",
    help: "CPUs of each of them",
    shownDefault: "64",
    schema: countBetween(1, UINT32_MAX).default(64),
  },
  nodeMemoryBytes: {
    key: "node_memory",
    value: "SIZE",
    help: "memory of each of them",
    shownDefault: "128GiB",
    schema: byteSize(MIB).default(128 * GIB),
  },
  heartbeatIntervalMs: {
    key: "heartbeat_interval",
    value: "DURATION",
    help: "time between two of their reports",
    shownDefault: "1s",
    schema: durationBetween(100, 20_000).default(1_000),
  },
  requests: {
    key: "requests",
    value: "N",
    help: "sandboxes that are asked for",
    shownDefault: "2000",
    schema: countBetween(1, MOST.requests).default(2_000),
  },
  cpuCount: {
    key: "cpu",
    value: "CPUS",
    help: "whole CPUs of each sandbox",
    shownDefault: "2",
    schema: countBetween(1, UINT32_MAX).default(2),
  },
  memoryBytes: {
    key: "memory",
    value: "SIZE",
    help: "memory of each sandbox, in whole MiB",
    shownDefault: "4GiB",
    schema: byteSize(MIB).default(4 * GIB),
  },
  concurrency: {
    key: "concurrency",
    value: "N",
    help: "requests in flight at once, over all workers",
    shownDefault: "64",
    schema: countBetween(1, MOST.concurrency).default(64),
  },
  workers: {
    key: "workers",
    value: "N",
    help: "worker threads that send requests",
    shownDefault: "2",
    schema: countBetween(1, MOST.workers).default(2),
  },
  confirm: weight("confirm", "reservations that are confirmed", 7),
  cancel: weight("cancel", "reservations that are cancelled", 2),
  abandon: weight("abandon", "reservations that are left to their lease", 1),
  repeatShare: {
    key: "repeat",
    value: "SHARE",
    help: "part of the requests that is sent twice at once, under one request_id",
    shownDefault: "0.1",
    schema: share.default(0.1),
  },
  waitMs: {
    key: "wait",
    value: "DURATION",
    help: "how long to wait for abandoned leases to end; those left are then cancelled by their id",
    shownDefault: "10s",
    schema: durationBetween(0, 3_600_000).default(10_000),
  },
  timeoutMs: {
    key: "timeout",
    value: "DURATION",
    help: "no further requests are sent after this time",
    shownDefault: "5m",
    schema: durationBetween(1_000, 86_400_000).default(300_000),
  },
  chaosKills: {
    key: "chaos",
    value: "KILLS",
    help: "start a scheduler for the run, and kill and restart it so often under load",
    schema: countBetween(1, 100_000).nullable().default(null),
  },
  seed: {
    key: "seed",
    value: "N",
    help: "makes the whole run: what becomes of which request (default: another one each time)",
    schema: countBetween(0, UINT32_MAX).nullable().default(null),
  },
} as const;

export type LoadSettings = Values<typeof LOAD_SETTINGS>;

function weight(key: string, what: string, usual: number) {
  return {
    key,
    value: "WEIGHT",
    help: `how many of the ${what}, relative to the others`,
    shownDefault: String(usual),
    schema: numberFrom(0).default(usual),
  } as const;
}
