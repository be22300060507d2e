import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { UsageError } from "../../../src/programs/options.ts";
import { placementConfigOf, resolveSchedulerSettings } from "../../../src/programs/scheduler-settings.ts";

const folder = mkdtempSync(join(tmpdir(), "evenkeel-agentenv-"));
let count = 0;

function resolve(content: object, flags: Record<string, string> = {}) {
  const file = join(folder, `${count++}.json`);
  writeFileSync(file, JSON.stringify(content));
  return resolveSchedulerSettings({ flags: { insecure: "true", ...flags }, environment: {}, file });
}

function problemOf(scheduler: object): string {
  try {
    resolve({ scheduler });
  } catch (thrown) {
    if (thrown instanceof UsageError) return thrown.message;
    throw thrown;
  }
  return "no problem";
}

const THEIRS = {
  grpc_listen_addr: "0.0.0.0:9191",
  metrics_listen_addr: ":9192",
  strategy: "round_robin",
  report_ttl: "20s",
  binding_ttl: "1m30s",
  redis_addr: "",
  artifact_store_capacity: 1000,
  artifact_lookup_node_limit: 3,
  nodes: [{ id: "n1", endpoint: "http://10.0.0.1:8000" }],
  discovery: { mode: "static" },
  node_resource_limit: { max_sandbox_count: 10, max_cpu_used_percent: 90 },
  placement_reservation_ttl: "10m",
};

describe("AgentENV's file", () => {
  test("every key that is listed holds", () => {
    const settings = resolve({ scheduler: THEIRS });
    expect(settings).toMatchObject({
      grpc: { host: "0.0.0.0", port: 9191 },
      http: { host: "0.0.0.0", port: 9192 },
      strategy: "round_robin",
      reportTtlMs: 20_000,
      bindingTtlMs: 90_000,
      artifactStoreCapacity: 1000,
      artifactLookupNodeLimit: 3,
      placementReservationTtlMs: 600_000,
      unservedKeys: [],
    });
    expect(placementConfigOf(settings)).toMatchObject({
      nodes: [{ nodeId: "n1", endpoint: "http://10.0.0.1:8000", ledger: false }],
      nodeResourceLimit: { maxSandboxCount: 10, maxCpuUsedPercent: 90, maxSandboxStartingCount: null },
    });
  });

  test("an empty one serves gRPC on its usual port", () => {
    expect(resolve({ scheduler: {} })).toMatchObject({
      grpc: { host: "127.0.0.1", port: 9090 },
      artifactStoreCapacity: 1_000_000,
      reportTtlMs: 30_000,
    });
  });

  test("a flag wins over it", () => {
    expect(resolve({ scheduler: THEIRS }, { reportTtl: "5s" }).reportTtlMs).toBe(5_000);
  });

  test("keys that are not served are named, wherever they stand", () => {
    const { unservedKeys } = resolve({
      scheduler: {
        ...THEIRS,
        shard_count: 4,
        nodes: [{ id: "n1", endpoint: "http://10.0.0.1:8000", zone: "x" }],
        node_resource_limit: { max_gpu_count: 1 },
      },
      gateway: {},
    });
    expect(unservedKeys.toSorted()).toEqual([
      "gateway",
      "scheduler.node_resource_limit.max_gpu_count",
      "scheduler.nodes[].zone",
      "scheduler.shard_count",
    ]);
  });

  test.each([
    [{ discovery: { mode: "kubernetes" } }, "scheduler.discovery.mode"],
    [{ discovery: { mode: "dns" } }, "scheduler.discovery.mode"],
    [{ redis_addr: "redis:6379" }, "scheduler.redis_addr"],
    [{ report_ttl: 30 }, "report_ttl"],
    [{ strategy: "best" }, "strategy"],
    [{ grpc_listen_addr: "9090" }, "grpc"],
    [{ nodes: [{ id: "n1" }] }, "nodes"],
  ])("%o is refused", (scheduler, named) => {
    expect(problemOf(scheduler)).toContain(named);
  });
});

test("our own form is flat, and nothing of it is translated", () => {
  expect(resolve({ report_ttl: "20s", nodes: THEIRS.nodes })).toMatchObject({
    grpc: null,
    reportTtlMs: 20_000,
    unservedKeys: [],
  });
  expect(() => resolve({ shard_count: 4 })).toThrow(UsageError);
});
