import { expect, test } from "vitest";
import { renderMetrics } from "../../../src/actors/resource-server/metrics.ts";
import type { Published } from "../../../src/messages/resource.ts";

const published: Published = {
  type: "published",
  body: new Uint8Array(),
  snapshot: {
    cpu: 4,
    memoryBytes: 8n * 2n ** 30n,
    storageBytes: null,
    utilization: { cpu: 0, memory: 0.5, pid: null, fd: 0.25, disk: null },
  },
  sources: [
    { source: "cpu", outcome: "ok", sampledAtMs: 1_000, durationMs: 2 },
    { source: "disk", outcome: "missed", sampledAtMs: null, durationMs: null },
  ],
  capacityAtMs: 1_000,
  refreshes: 1,
};

test("known values are there, zero too; unknown ones are left out", async () => {
  const lines = (await renderMetrics(published, 3_500))
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  expect(lines).toEqual([
    'evenkeel_utilization_ratio{metric="cpu"} 0',
    'evenkeel_utilization_ratio{metric="memory"} 0.5',
    'evenkeel_utilization_ratio{metric="fd"} 0.25',
    "evenkeel_capacity_cpu_cores 4",
    "evenkeel_capacity_memory_bytes 8589934592",
    'evenkeel_sample_age_seconds{source="cpu"} 2.5',
    'evenkeel_sample_duration_seconds{source="cpu"} 0.002',
    'evenkeel_sample_outcome{source="cpu",outcome="ok"} 1',
    'evenkeel_sample_outcome{source="cpu",outcome="none"} 0',
    'evenkeel_sample_outcome{source="cpu",outcome="failed"} 0',
    'evenkeel_sample_outcome{source="cpu",outcome="missed"} 0',
    'evenkeel_sample_outcome{source="disk",outcome="ok"} 0',
    'evenkeel_sample_outcome{source="disk",outcome="none"} 0',
    'evenkeel_sample_outcome{source="disk",outcome="failed"} 0',
    'evenkeel_sample_outcome{source="disk",outcome="missed"} 1',
  ]);
});
