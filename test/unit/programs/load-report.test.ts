import { expect, test } from "vitest";
import { renderLoadPage } from "../../../src/programs/load-report.ts";
import { LOAD_SETTINGS } from "../../../src/programs/load-settings.ts";
import { resolveSettings } from "../../../src/programs/options.ts";

const flags = { requests: "90000", cpu: "1", memory: "1GiB", nodeCpu: "64", nodeMemory: "128GiB" };
const settings = resolveSettings(LOAD_SETTINGS, { flags, environment: {}, file: null });
const terms = {
  ...settings,
  scheduler: { url: "http://127.0.0.1:7070", token: null, tls: null },
  nodes: ["a", "b"].map((nodeId) => ({ nodeId, token: null })),
  seed: 7,
  prefix: "load",
};

function pageOf(cutShort: string | null): readonly string[] {
  const records = [0, 1, 2].map((number) => ({ number, outcome: "refused", code: "no_nodes" }) as const);
  const durationsMs = { schedule: [1, 2, 3], confirm: [], cancel: [] };
  const figures = { calls: 3, firedMs: 1_000, findings: [], cancelledById: 0 };
  return renderLoadPage({ terms, records, durationsMs, ...figures, cutShort }).split("\n");
}

test("a page begins with what was sent, which is not all where something else ends the run", () => {
  expect(pageOf(null)[0]).toMatch(/^3 requests of 1 CPU and 1 GiB, 2 nodes of 64 CPUs and 128 GiB, .*, seed 7$/);
  expect(pageOf(null).join("\n")).not.toContain("90000");
});

test("a run that was cut short says how many were to be sent", () => {
  expect(pageOf("SIGINT")).toContain("Cut short by SIGINT: 3 of 90000 were sent.");
});
