import { describe, expect, test } from "vitest";
import { formatBytes, formatRatio } from "../../../src/programs/figures.ts";
import { render } from "../../../src/programs/resource.ts";
import { renderTable } from "../../../src/programs/table.ts";

test("a node's resources, as a person sees them", () => {
  const text = JSON.stringify({
    cpu: 32,
    mem: 68_719_476_736,
    storage: 17_179_869_184,
    features: ["storage-quota-v1"],
    unknown_field: 1,
    utilization: { cpu: 1, memory: 0.5, pid: null, fd: 0.0001, disk: 0 },
  });
  expect(render(text)).toBe(
    [
      "capacity  32 CPUs, 64 GiB memory, 16 GiB storage",
      "cpu       ████████████████████████  100.0 %",
      "memory    ████████████░░░░░░░░░░░░   50.0 %",
      "pid       ························  unknown",
      "fd        █░░░░░░░░░░░░░░░░░░░░░░░    0.0 %",
      "disk      ░░░░░░░░░░░░░░░░░░░░░░░░    0.0 %",
      "",
    ].join("\n"),
  );
});

test.each(["", "{}", "<html>", '{"cpu":1,"mem":1,"utilization":{"cpu":2}}'])("%j is no node's answer", (text) => {
  expect(render(text)).toBe(null);
});

describe("figures", () => {
  test.each([
    [0, "0 B"],
    [1023, "1023 B"],
    [1536, "1.5 KiB"],
    [64n * 2n ** 30n, "64 GiB"],
    [2n ** 63n, "8 EiB"],
  ])("%s bytes read %s", (bytes, text) => expect(formatBytes(bytes)).toBe(text));

  test("a ratio reads as a percentage", () => expect(formatRatio(0.4816)).toBe("48.2 %"));
});

test("tables are aligned, figures to the right, without blanks at line ends", () => {
  const rows = [
    ["a", "1.5 GiB", "x"],
    ["longer", "10 GiB", ""],
  ];
  expect(renderTable(["NODE", "MEMORY", "NOTE"], rows)).toBe(
    ["NODE     MEMORY  NOTE", "a       1.5 GiB  x", "longer   10 GiB", ""].join("\n"),
  );
});
