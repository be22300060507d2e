import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compiledValidatorOf, validatorOf } from "../../../src/actors/api/validation.ts";
import { ENDPOINTS, type Endpoint, nothing } from "../../../src/messages/http/endpoints.ts";

const RUNS = { seed: 14_142, numRuns: 3_000 };

const HOT = Object.entries(ENDPOINTS as Readonly<Record<string, Endpoint>>).filter(([, { hot }]) => hot === true);

/** A body of each hot call with every field that it may have. */
const FULL: Readonly<Record<string, object>> = {
  schedule: {
    hint: { new_cold_sandbox: { cpu_count: 2, memory_mb: 512, images: ["a"], metadata: { team: "a" } } },
    request_id: "r-1",
    exclude_node_ids: ["n1", "n2"],
    managed: false,
  },
  confirm: { sandbox_id: "s-1", force: true },
  heartbeat: {
    endpoint: "n1.example:443",
    cluster_id: "c",
    service_instance_id: "i",
    version: "1",
    snapshot: {
      status: "READY",
      allocated_cpu: 2,
      allocated_memory_bytes: 2 ** 32,
      cpu_percent: 12,
      cpu_count: 192,
      memory_used_bytes: 1,
      memory_total_bytes: 2 ** 41,
      disks: [{ mount_point: "/", device: "/dev/vda", filesystem_type: "ext4", used_bytes: 1, total_bytes: 2 }],
      sandbox_count: 1,
      sandbox_starting_count: 0,
      create_successes: 7,
      create_fails: 1,
      reported_at_unix_ms: 1_800_000_000_000,
      paused_sandbox_count: 0,
      paused_allocated_cpu: 0,
      paused_allocated_memory_bytes: 0,
    },
    sandbox_ids: ["s-1", "s-2"],
    resource: { cpu: 192, mem: 2 ** 41, utilization: { cpu: 0.5, memory: 1, pid: 0, fd: null, disk: 0.25 } },
    sequence: 1,
    resource_sequence: 2,
    boot_id: "b",
    inventory: "none",
  },
};

type Path = readonly (string | number)[];

function pathsOf(value: unknown, at: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([key, each]) => pathsOf(each, [...at, key]))];
}

/** One change at one place: another value, nothing, or a field that nobody knows. */
const change = fc.record({
  place: fc.nat(),
  value: fc.option(
    fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom<unknown>(0, -0, -1, 0.5, 1.5, 2 ** 32 - 1, 2 ** 32, 2 ** 33, 2 ** 53 - 1, 2 ** 53, 1e300),
      fc.constantFrom<unknown>("", "x", "x y", "é", "READY", "none", "x".repeat(257), "😀".repeat(200), null, [], {}),
    ),
    { nil: undefined },
  ),
  adds: fc.boolean(),
});

function changed(body: unknown, { place, value, adds }: { place: number; value: unknown; adds: boolean }): unknown {
  const paths = pathsOf(body);
  const path = paths[place % paths.length] ?? [];
  const last = path.at(-1);
  if (last === undefined) return adds ? { ...(body as object), surprise: value ?? 1 } : (value ?? {});
  let parent = body as Record<string | number, unknown>;
  for (const key of path.slice(0, -1)) parent = parent[key] as typeof parent;
  if (adds && !Array.isArray(parent)) parent.surprise = value ?? 1;
  else if (value !== undefined) parent[last] = value;
  else if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else delete parent[last];
  return body;
}

describe.each(HOT)("the compiled check of %s", (name, { body }) => {
  const compiled = compiledValidatorOf(body, "body");
  const plain = validatorOf(body, "body");

  test("takes a body with every field, and hands it on as it is", () => {
    const given = structuredClone(FULL[name]);
    const checked = compiled(given);
    expect(checked.ok && checked.value === given).toBe(true);
    expect(checked).toEqual(plain(FULL[name]));
  });

  test("says of any body what the schema says, defaults, unknown fields and refusals included", () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 4 }), (changes) => {
        const given = changes.reduce<unknown>(changed, structuredClone(FULL[name]));
        expect(compiled(structuredClone(given))).toEqual(plain(given));
      }),
      RUNS,
    );
  });
});

const PARAMS = HOT.filter(([, { params }]) => params !== nothing);

describe.each(PARAMS)("the compiled check of the path of %s", (_name, { params, path }) => {
  const [, parameter = ""] = /\{(\w+)\}/.exec(path) ?? [];

  test("says of any name what the schema says", () => {
    const [compiled, plain] = [compiledValidatorOf(params, "params"), validatorOf(params, "params")];
    const name = fc.oneof(
      fc.string({ unit: "binary", maxLength: 300 }),
      fc.string({ unit: "grapheme-ascii", minLength: 250, maxLength: 260 }),
      fc.constantFrom("", "rt_0123", "x".repeat(256), "x".repeat(257), "a b", "é"),
    );
    fc.assert(
      fc.property(name, (given) => {
        expect(compiled({ [parameter]: given })).toEqual(plain({ [parameter]: given }));
      }),
      RUNS,
    );
  });
});
