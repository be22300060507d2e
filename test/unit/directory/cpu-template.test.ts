import { describe, expect, test } from "vitest";
import { TemplateRounds } from "../../../src/actors/directory/cpu-template/state.ts";
import {
  type CpuTemplate,
  formatTemplate,
  intersect,
  parseTemplate,
} from "../../../src/actors/directory/cpu-template/template.ts";

const bits = (digits: string, count: number): string => `0b${digits.padStart(count, "0")}`;
const leaf = (number: string, registers: Record<string, string>, more: object = {}): object => ({
  leaf: number,
  subleaf: "0x0",
  flags: 0,
  modifiers: Object.entries(registers).map(([register, digits]) => ({ register, bitmap: bits(digits, 32) })),
  ...more,
});
const msr = (addr: string, digits: string): object => ({ addr, bitmap: bits(digits, 64) });

function common(...templates: object[]): unknown {
  const [first, ...others] = templates.map((template) => parseTemplate(JSON.stringify(template)));
  if (first === undefined || first === null) throw new Error("the first cannot be read");
  const all = others.reduce<CpuTemplate>((left, right) => {
    if (right === null) throw new Error("one cannot be read");
    return intersect(left, right);
  }, first);
  return JSON.parse(formatTemplate(all));
}

describe("intersection", () => {
  test("capabilities of all, sorted", () => {
    expect(common({ kvm_capabilities: ["9", "!56", "171"] }, { kvm_capabilities: ["171", "9", "12"] })).toEqual({
      kvm_capabilities: ["171", "9"],
      cpuid_modifiers: [],
      msr_modifiers: [],
    });
  });

  test("CPUID by leaf, subleaf, flags and register, with the bits that all have", () => {
    const left = {
      cpuid_modifiers: [
        leaf("0x7", { ebx: "1100", ecx: "1" }),
        leaf("0x1", { eax: "1111", edx: "1" }),
        leaf("0xd", { eax: "1" }, { subleaf: "0x1" }),
        leaf("0x4", { eax: "1" }, { flags: 1 }),
      ],
    };
    const right = {
      cpuid_modifiers: [
        leaf("1", { eax: "1010", ebx: "1" }),
        leaf("0x00000007", { ebx: "0110" }),
        leaf("0xd", { eax: "1" }, { subleaf: "0x2" }),
        leaf("0x4", { eax: "1" }, { flags: 0 }),
      ],
    };
    expect(common(left, right)).toMatchObject({
      cpuid_modifiers: [
        { leaf: "0x1", subleaf: "0x0", flags: 0, modifiers: [{ register: "eax", bitmap: bits("1010", 32) }] },
        { leaf: "0x7", subleaf: "0x0", flags: 0, modifiers: [{ register: "ebx", bitmap: bits("100", 32) }] },
      ],
    });
    expect(common(right, left)).toEqual(common(left, right));
  });

  test("leaves of topology are dropped, also where all have them, also for one node alone", () => {
    const all = { cpuid_modifiers: [leaf("0xb", { eax: "1" }), leaf("0x1f", { eax: "1" }), leaf("0x1", { eax: "1" })] };
    for (const result of [common(all), common(all, all)]) {
      expect((result as { cpuid_modifiers: { leaf: string }[] }).cpuid_modifiers.map((entry) => entry.leaf)).toEqual([
        "0x1",
      ]);
    }
  });

  test("MSRs by address, all 64 bits exact", () => {
    const high = "1".repeat(64);
    const odd = `1${"0".repeat(61)}11`;
    const expected = [
      { addr: "0x10a", bitmap: `0b${odd}` },
      { addr: "0xc0011029", bitmap: bits("1", 64) },
    ];
    expect(
      common(
        { msr_modifiers: [msr("0xc0011029", "101"), msr("0x10a", high), msr("0x3a", "1")] },
        { msr_modifiers: [msr("0x10A", odd), msr("0xc0011029", "11")] },
      ),
    ).toMatchObject({ msr_modifiers: expected });
  });

  test.each([
    ["no JSON", "{"],
    ["no object", "[]"],
    ["a bit that is left to the host", JSON.stringify({ msr_modifiers: [{ addr: "0x1", bitmap: "0bx1" }] })],
    ["33 bits in a CPUID register", JSON.stringify({ cpuid_modifiers: [leaf("0x1", { eax: "1".repeat(33) })] })],
    ["65 bits in an MSR", JSON.stringify({ msr_modifiers: [msr("0x1", "1".repeat(65))] })],
    ["an address that is none", JSON.stringify({ msr_modifiers: [msr("MSR", "1")] })],
    ["an address beyond 32 bits", JSON.stringify({ msr_modifiers: [msr("4294967296", "1")] })],
  ])("%s cannot be read", (_, text) => {
    expect(parseTemplate(text)).toBeNull();
  });
});

describe("rounds", () => {
  const template = (digits: string): string => JSON.stringify({ msr_modifiers: [msr("0x1", digits)] });
  const answer = (digits: string): string =>
    JSON.stringify({ kvm_capabilities: [], cpuid_modifiers: [], msr_modifiers: [msr("0x1", digits)] });
  function start() {
    const rounds = new TemplateRounds();
    const unreadable: string[][] = [];
    const beat = (nodeId: string, cpuConfigJson = "", clusterId = "c"): string => {
      const heard = rounds.onHeartbeat({ nodeId, clusterId, cpuConfigJson });
      if (heard.unreadable.length > 0) unreadable.push([...heard.unreadable]);
      return heard.cpuConfigJson;
    };
    return { rounds, beat, unreadable };
  }

  test("nobody is answered before all have sent one; then each at its next heartbeat, once", () => {
    const { beat } = start();
    expect([beat("a", template("110")), beat("b"), beat("a"), beat("b", template("011"))]).toEqual(["", "", "", ""]);
    expect([beat("a"), beat("a"), beat("b"), beat("b")]).toEqual([answer("10"), "", answer("10"), ""]);
  });

  test("a node that joins starts anew: nobody is answered until it has sent one, then all are again", () => {
    const { beat } = start();
    beat("a", template("111"));
    expect([beat("a"), beat("a")]).toEqual([answer("111"), ""]);
    beat("b");
    expect(beat("a")).toBe("");
    beat("b", template("101"));
    expect([beat("a"), beat("b"), beat("a")]).toEqual([answer("101"), answer("101"), ""]);
  });

  test("so does one that leaves", () => {
    const { rounds, beat } = start();
    beat("a", template("110"));
    beat("b", template("011"));
    expect([beat("a"), beat("b")]).toEqual([answer("10"), answer("10")]);
    rounds.onNodeGone("b");
    expect([beat("a"), beat("a")]).toEqual([answer("110"), ""]);
  });

  test("and one that sends another; the same again while it goes on is no other", () => {
    const { beat } = start();
    for (const nodeId of ["a", "b"]) beat(nodeId, template("111"));
    expect([beat("a"), beat("b")]).toEqual([answer("111"), answer("111")]);
    beat("b", template("100"));
    expect([beat("a"), beat("b"), beat("b")]).toEqual([answer("100"), answer("100"), ""]);

    const always = start();
    always.beat("a", template("1"));
    expect([always.beat("a", template("1")), always.beat("a", template("1"))]).toEqual([answer("1"), ""]);
  });

  test("a node that was restarted sends the same again, and is told again; the others are not", () => {
    const { beat } = start();
    for (const nodeId of ["a", "b"]) beat(nodeId, template("1"));
    expect([beat("a"), beat("b")]).toEqual([answer("1"), answer("1")]);
    expect(beat("a", template("1"))).toBe("");
    expect([beat("a"), beat("a"), beat("b")]).toEqual([answer("1"), "", ""]);
  });

  test("clusters are apart, and a node that moves leaves its old one", () => {
    const { beat } = start();
    beat("a", template("11"), "c1");
    beat("b", template("01"), "c1");
    beat("c", template("10"), "c2");
    expect([beat("a", "", "c1"), beat("c", "", "c2")]).toEqual([answer("1"), answer("10")]);
    beat("b", template("01"), "c2");
    expect([beat("a", "", "c1"), beat("c", "", "c2")]).toEqual([answer("11"), answer("0")]);
  });

  test("one that cannot be read: no intersection, and one complaint for each such template", () => {
    const { beat, unreadable } = start();
    beat("a", template("1"));
    beat("b", "not a template");
    expect([beat("a"), beat("b"), beat("a")]).toEqual(["", "", ""]);
    beat("c", template("1"));
    expect([beat("a"), beat("c")]).toEqual(["", ""]);
    expect(unreadable).toEqual([["b"]]);
    beat("b", template("1"));
    expect([beat("a"), beat("b"), beat("c")]).toEqual([answer("1"), answer("1"), answer("1")]);
    expect(unreadable).toEqual([["b"]]);
  });
});
