/** The nested keys of the scheduler's configuration file. Its scalar keys are settings, each with a flag and a variable. */
import { z } from "zod";
import { byteSize, countBetween, cpuAmount, share } from "./amounts.ts";
import { METRICS, type Metric } from "./sampling.ts";
import { nodeIdSchema, numberFrom, oneOf, refuse, show, textNamed } from "./settings.ts";

/** A key that the file may leave out. */
function orElse<Value>(schema: z.ZodType<Value, unknown>, value: z.core.util.NoUndefined<Value>) {
  return schema.default(value);
}

/** An amount, or one of the two words for amounts that are not fixed. */
function assumed(fixed: z.ZodType<number, unknown>): z.ZodType<"observed" | "none" | number, unknown> {
  return z.unknown().transform((given, context) => {
    if (given === "observed" || given === "none") return given;
    const amount = fixed.safeParse(given);
    if (amount.success) return amount.data;
    return refuse(context, `${amount.error.issues[0]?.message}, nor "observed" or "none"`);
  });
}

const positive = z.unknown().transform((given, context) => {
  if (typeof given === "number" && Number.isFinite(given) && given > 0) return given;
  return refuse(context, `${show(given)} is not a number above 0`);
});

const maximum = orElse<number | null>(countBetween(0, Number.MAX_SAFE_INTEGER).nullable(), null);
const percentage = orElse<number | null>(numberFrom(0).nullable(), null);
const cpuMaximum = orElse<number | null>(countBetween(0, 2 ** 32 - 1).nullable(), null);

/** For each metric the same, and all of them optional. */
function perMetric<Value extends z.ZodType>(schema: Value) {
  return (
    z
      .strictObject(Object.fromEntries(METRICS.map((metric) => [metric, schema])) as Record<Metric, Value>)
      // Each metric has a default of its own, which a generic schema does not tell the compiler.
      .prefault({} as never)
  );
}

const pressureSchema = z
  .strictObject({
    enter_at: orElse(share, 0.9),
    enter_samples: orElse(countBetween(1, 1_000), 6),
    recover_below: orElse(share, 0.8),
    recover_samples: orElse(countBetween(1, 1_000), 2),
  })
  .refine((rule) => rule.recover_below <= rule.enter_at, { error: "recover_below must not be above enter_at" })
  .prefault({});

const nodeSchema = z
  .strictObject({
    id: nodeIdSchema,
    endpoint: textNamed("an endpoint such as http://10.0.0.1:8000").optional(),
    /** No sandbox runtime reports for it: the scheduler's ledger is the allocation. */
    inventory: oneOf(["none"]).optional(),
  })
  .refine((node) => node.endpoint !== undefined || node.inventory === "none", {
    error: 'needs an endpoint, unless its inventory is "none"',
  });

export const schedulerConfigurationSchema = z.strictObject({
  assumed_resources: z
    .strictObject({
      cpu: orElse(assumed(cpuAmount), "observed"),
      memory: orElse(assumed(byteSize()), "observed"),
    })
    .prefault({}),
  overcommit: z.strictObject({ cpu: orElse(positive, 1), memory: orElse(positive, 1) }).prefault({}),
  paused_weight: z.strictObject({ cpu: orElse(numberFrom(0), 1), memory: orElse(numberFrom(0), 1) }).prefault({}),
  node_resource_limit: z
    .strictObject({
      max_sandbox_count: maximum,
      max_sandbox_starting_count: maximum,
      max_cpu_used_percent: percentage,
      max_cpu_allocated_percent: percentage,
      max_memory_used_percent: percentage,
      max_memory_allocated_percent: percentage,
      max_sandbox_count_including_paused: maximum,
      /** Whole cores. */
      max_allocated_cpu_including_paused: cpuMaximum,
      max_allocated_memory_bytes_including_paused: maximum,
    })
    .prefault({}),
  pressure: perMetric(pressureSchema),
  pressure_action: perMetric(orElse(oneOf(["exclude", "demote"]), "exclude")),
  /** Absent or empty: nodes are found by their heartbeats. */
  nodes: z
    .array(nodeSchema)
    .default([])
    .refine((nodes) => new Set(nodes.map(({ id }) => id)).size === nodes.length, { error: "names a node twice" }),
});

export type SchedulerConfiguration = z.output<typeof schedulerConfigurationSchema>;

export const NESTED_KEYS: readonly string[] = Object.keys(schedulerConfigurationSchema.shape);
