import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { defaultPlacementConfig } from "../../../src/actors/placement/config.ts";
import { isLoopback } from "../../../src/programs/address.ts";
import { usualApiThreads } from "../../../src/programs/api-threads-setting.ts";
import { flagOf, variableOf } from "../../../src/programs/options.ts";
import {
  placementConfigOf,
  resolveSchedulerSettings,
  SCHEDULER_SETTINGS,
} from "../../../src/programs/scheduler-settings.ts";

const folder = mkdtempSync(join(tmpdir(), "evenkeel-settings-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function configOf(content: object) {
  const file = join(folder, "scheduler.json");
  writeFileSync(file, JSON.stringify(content));
  return placementConfigOf(resolveSchedulerSettings({ flags: {}, environment: {}, file }));
}

describe("the scheduler's settings", () => {
  test("without any, the placement core has its defaults", () => {
    const settings = resolveSchedulerSettings({ flags: {}, environment: {}, file: null });
    expect(placementConfigOf(settings)).toEqual(defaultPlacementConfig);
    expect(settings.http).toEqual({ host: "127.0.0.1", port: 7070 });
    expect(settings.bindingTtlMs).toBe(30_000);
  });

  test("every scalar key of the core has a flag and a variable of its name", () => {
    const keys = Object.values(SCHEDULER_SETTINGS).map(({ key }) => key);
    for (const key of ["strategy", "report_ttl", "binding_ttl", "placement_reservation_ttl", "unknown_nodes"])
      expect(keys).toContain(key);
    expect(flagOf(SCHEDULER_SETTINGS.confirmedUnseenTtlMs)).toBe("--confirmed-unseen-ttl");
    expect(variableOf(SCHEDULER_SETTINGS.confirmedUnseenTtlMs)).toBe("EVENKEEL_CONFIRMED_UNSEEN_TTL");
  });

  test("API threads are chosen by the cores, at most as many as one placement thread feeds, unless a number is given", () => {
    expect([1, 2, 3, 4, 5, 6, 8, 64].map(usualApiThreads)).toEqual([1, 1, 1, 2, 2, 3, 3, 3]);
    const file = join(folder, "threads.json");
    writeFileSync(file, JSON.stringify({ api_threads: 4 }));
    const resolve = (flags: object, environment: NodeJS.ProcessEnv = {}, from: string | null = null) =>
      resolveSchedulerSettings({ flags: { ...flags }, environment, file: from }).apiThreads;
    expect(resolve({})).toBe(usualApiThreads(availableParallelism()));
    expect(resolve({ apiThreads: "auto" }, {}, file)).toBe(usualApiThreads(availableParallelism()));
    expect(resolve({}, {}, file)).toBe(4);
    expect(resolve({}, { EVENKEEL_API_THREADS: "64" }, file)).toBe(64);
    expect(resolve({ apiThreads: "1" }, { EVENKEEL_API_THREADS: "64" }, file)).toBe(1);
    for (const wrong of ["0", "65", "1.5", "-1", "many"]) {
      expect(() => resolve({ apiThreads: wrong })).toThrow(
        `--api-threads: "${wrong}" is not a whole number from 1 to 64, or auto`,
      );
    }
  });

  test("metrics are kept unless flag, variable or file says otherwise", () => {
    const file = join(folder, "no-metrics.json");
    writeFileSync(file, JSON.stringify({ no_metrics: true }));
    const resolve = (flags: object, environment: NodeJS.ProcessEnv = {}, from: string | null = null) =>
      resolveSchedulerSettings({ flags: { ...flags }, environment, file: from }).noMetrics;
    expect(resolve({})).toBe(false);
    // As commander hands on `--no-metrics`.
    expect(resolve({ metrics: false })).toBe(true);
    expect(resolve({}, { EVENKEEL_NO_METRICS: "1" })).toBe(true);
    expect(resolve({}, {}, file)).toBe(true);
    expect(resolve({}, { EVENKEEL_NO_METRICS: "false" }, file)).toBe(false);
  });

  test("nested keys come in the units of the wire and go in those of the core", () => {
    const config = configOf({
      assumed_resources: { cpu: 0.5, memory: "512MiB" },
      overcommit: { cpu: 2 },
      paused_weight: { memory: 0 },
      node_resource_limit: {
        max_sandbox_count: 0,
        max_cpu_used_percent: 90.5,
        max_allocated_cpu_including_paused: 3,
        max_allocated_memory_bytes_including_paused: 1_024,
      },
      pressure: { memory: { enter_at: 0.95, enter_samples: 3, recover_below: 0.7, recover_samples: 1 } },
      pressure_action: { memory: "demote" },
      nodes: [
        { id: "a", endpoint: "http://a" },
        { id: "b", inventory: "none" },
      ],
    });
    expect(config.assumedResources).toEqual({ cpu: 500, memory: 512 * 2 ** 20 });
    expect(config.overcommit).toEqual({ cpu: 2, memory: 1 });
    expect(config.pausedWeight).toEqual({ cpu: 1, memory: 0 });
    expect(config.nodeResourceLimit).toEqual({
      ...defaultPlacementConfig.nodeResourceLimit,
      maxSandboxCount: 0,
      maxCpuUsedPercent: 90.5,
      maxAllocatedCpuMillicoresIncludingPaused: 3_000,
      maxAllocatedMemoryBytesIncludingPaused: 1_024,
    });
    expect(config.pressure.memory).toEqual({
      enterAt: 0.95,
      enterSamples: 3,
      recoverBelow: 0.7,
      recoverSamples: 1,
      action: "demote",
    });
    expect(config.pressure.cpu).toEqual(defaultPlacementConfig.pressure.cpu);
    expect(config.nodes).toEqual([
      { nodeId: "a", endpoint: "http://a", ledger: false },
      { nodeId: "b", endpoint: null, ledger: true },
    ]);
  });

  test.each([
    [{ overcommit: { cpu: 0 } }, /overcommit\.cpu in .*: 0 is not a number above 0/],
    [{ overcommit: { cpu: null } }, /overcommit\.cpu in /],
    [{ paused_weight: { cpu: -1 } }, /paused_weight\.cpu in /],
    [
      { assumed_resources: { memory: 512 } },
      /assumed_resources\.memory in .*: 512 is not a size .*, nor "observed" or "none"/,
    ],
    [{ pressure_action: { cpu: "ignore" } }, /pressure_action\.cpu in .*: "ignore" is not one of exclude, demote/],
    [{ pressure: { gpu: {} } }, /pressure\.gpu in .*: no such key/],
    [{ nodes: [{ id: "a b", endpoint: "http://a" }] }, /nodes\.0\.id in /],
  ])("%j is refused by the name of its key", (content, message) => {
    expect(() => configOf(content)).toThrow(message);
  });

  test.each([
    ["127.0.0.1", true],
    ["127.1.2.3", true],
    ["::1", true],
    ["localhost", true],
    ["0.0.0.0", false],
    ["::", false],
    ["10.0.0.1", false],
    ["127.evil.example", false],
  ])("%s is loopback: %s", (host, expected) => {
    expect(isLoopback({ host, port: 1 })).toBe(expected);
  });
});
