import { Histogram, Registry } from "prom-client";
import { expect, test } from "vitest";
import { TallyCounter, TallyHistogram } from "../../../src/actors/api/tally.ts";

const BUCKETS = [0.1, 0.5, 1];
const VALUES = [0, 0.05, 0.1, 0.100001, 0.5, 0.75, 1, 1.5, 1_000];

test("a tallied histogram is shown as prom-client shows its own", async () => {
  const [registry, theirs] = [new Registry(), new Registry()];
  const ours = new TallyHistogram<"state" | "why">({ name: "ages", help: "Ages.", buckets: BUCKETS, registry });
  const histogram = new Histogram({
    name: "ages",
    help: "Ages.",
    labelNames: ["state", "why"],
    buckets: BUCKETS,
    registers: [theirs],
  });
  for (const labels of [
    { state: "ended", why: "lease" },
    { state: "released", why: 'a "word"' },
  ]) {
    const series = ours.series(labels);
    for (const value of VALUES) {
      series.observe(value);
      histogram.observe(labels, value);
    }
  }
  expect(await registry.metrics()).toBe(await theirs.metrics());
});

test("a series without observations is shown, with nothing in it", async () => {
  const registry = new Registry();
  new TallyHistogram<"state">({ name: "ages", help: "Ages.", buckets: [1], registry }).series({ state: "ended" });
  expect(await registry.metrics()).toBe(
    [
      "# HELP ages Ages.",
      "# TYPE ages histogram",
      'ages_bucket{le="1",state="ended"} 0',
      'ages_bucket{le="+Inf",state="ended"} 0',
      'ages_sum{state="ended"} 0',
      'ages_count{state="ended"} 0',
      "",
    ].join("\n"),
  );
});

test("a tallied counter counts on from one look to the next", async () => {
  const registry = new Registry();
  const counter = new TallyCounter<"actor">({
    name: "done_total",
    help: "Done.",
    labelNames: ["actor"],
    registers: [registry],
  });
  const series = counter.series({ actor: "placement" });
  expect(await registry.metrics()).toContain('done_total{actor="placement"} 0\n');
  series.add();
  series.add();
  expect(await registry.metrics()).toContain('done_total{actor="placement"} 2\n');
  series.add();
  expect(await registry.metrics()).toContain('done_total{actor="placement"} 3\n');
});
