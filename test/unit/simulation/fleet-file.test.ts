import { expect, test } from "vitest";
import { parseFleet } from "../../../src/simulation/fleet-file.ts";

const GIB = 2 ** 30;

test("rows become nodes, and a row with a count as many", () => {
  const text =
    '{"nodes":[{"node_id":"a","cpu":0.5,"memory":"1.5GiB"},{"node_id":"b","count":2,"cpu":"4","memory":"1TiB"}]}';
  expect(parseFleet(text)).toEqual({
    ok: true,
    nodes: [
      { nodeId: "a", capacity: { cpuMillicores: 500, memoryBytes: 1.5 * GIB } },
      { nodeId: "b-1", capacity: { cpuMillicores: 4000, memoryBytes: 1024 * GIB } },
      { nodeId: "b-2", capacity: { cpuMillicores: 4000, memoryBytes: 1024 * GIB } },
    ],
  });
});

const good = '"cpu":1,"memory":"1GiB"';

test.each([
  ["no JSON", "nodes:", /^is not JSON: /],
  ["no object", "[]", /^is not an object such as/],
  ["no nodes", "{}", /^nodes: is not a list of nodes such as/],
  ["an empty list", '{"nodes":[]}', /^nodes: is empty; a fleet has at least one node$/],
  ["a node that is a name", '{"nodes":["a"]}', /^nodes\[0\]: is not a node such as/],
  ["no id", `{"nodes":[{${good}}]}`, /^nodes\[0\]\.node_id: nothing is not a node id: 1 to 256 printable/],
  ["no memory", '{"nodes":[{"node_id":"a","cpu":1}]}', /^nodes\[0\]\.memory: nothing is not a size such as 512MiB/],
  [
    "memory without a unit",
    '{"nodes":[{"node_id":"a","cpu":1,"memory":4096}]}',
    /^nodes\[0\]\.memory: 4096 is not a size/,
  ],
  [
    "no CPU at all",
    '{"nodes":[{"node_id":"a","cpu":0,"memory":"1GiB"}]}',
    /^nodes\[0\]\.cpu: 0 is not a number of CPUs/,
  ],
  [
    "a negative CPU",
    '{"nodes":[{"node_id":"a","cpu":-1,"memory":"1GiB"}]}',
    /^nodes\[0\]\.cpu: -1 is not a number of CPUs/,
  ],
  [
    "a count of 0",
    `{"nodes":[{"node_id":"a","count":0,${good}}]}`,
    /^nodes\[0\]\.count: 0 is not a whole number from 1 to/,
  ],
  [
    "a misspelt field",
    `{"nodes":[{"node_id":"a","ram":"1GiB",${good}}]}`,
    /^nodes\[0\]: no such field: ram; there are node_id, count, cpu, memory$/,
  ],
  [
    "one id twice",
    `{"nodes":[{"node_id":"a-1",${good}},{"node_id":"a","count":2,${good}}]}`,
    /^nodes: "a-1" occurs twice; give each its own node_id$/,
  ],
  [
    "too many",
    `{"nodes":[{"node_id":"a","count":100000,${good}},{"node_id":"b",${good}}]}`,
    /^nodes: 100001 nodes, at most 100000$/,
  ],
])("%s is refused with the field and the mend", (_, text, problem) => {
  const reading = parseFleet(text);
  expect(reading.ok ? null : reading.problem).toMatch(problem);
});
