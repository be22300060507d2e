import { expect, test } from "vitest";
import { HINT_BYTES_MAX, hintOf } from "../../../src/actors/gateway/hint.ts";

const cold = (body: unknown) => hintOf("new_cold_sandbox", Buffer.from(JSON.stringify(body)));

test("takes what the body says", () => {
  const body = {
    cpuCount: 2,
    memoryMB: 512,
    image: "alpine:3",
    attachedDrives: [{ source: { image: "data:1" } }, { source: { path: "/x" } }, { source: { image: "data:2" } }],
    metadata: { team: "a" },
    other: { kept: "by the node" },
  };
  expect(cold(body)).toEqual({
    new_cold_sandbox: {
      cpu_count: 2,
      memory_mb: 512,
      images: ["alpine:3", "data:1", "data:2"],
      metadata: { team: "a" },
    },
  });
});

test("a template's create has no images, and the amounts that its caller has resolved", () => {
  const body = Buffer.from('{"templateID":"t","image":"x","cpuCount":4,"metadata":{"a":"b"}}');
  expect(hintOf("new_sandbox", body)).toEqual({ new_sandbox: { cpu_count: 4, metadata: { a: "b" } } });
});

test.each([
  ["a string", { cpuCount: "2", memoryMB: 512 }],
  ["a fraction", { cpuCount: 1.5, memoryMB: 512 }],
  ["a negative", { cpuCount: -1, memoryMB: 512 }],
  ["more than a uint32", { cpuCount: 2 ** 32, memoryMB: 512 }],
  ["null", { cpuCount: null, memoryMB: 512 }],
  ["true", { cpuCount: true, memoryMB: 512 }],
  ["images and drives of odd shapes", { image: 7, attachedDrives: [null, 1, {}, { source: null }], memoryMB: 512 }],
  ["drives that are no list", { attachedDrives: { source: { image: "x" } }, memoryMB: 512 }],
  ["metadata that is no object", { metadata: ["a"], memoryMB: 512 }],
  ["metadata of numbers", { metadata: { a: 1 }, memoryMB: 512 }],
])("%s is left out, and the rest is taken", (_what, body) => {
  expect(cold(body)).toEqual({ new_cold_sandbox: { memory_mb: 512 } });
});

test("memory that is no exact number of bytes is left out", () => {
  expect(cold({ memoryMB: 2 ** 33 - 1 })).toEqual({ new_cold_sandbox: { memory_mb: 2 ** 33 - 1 } });
  expect(cold({ memoryMB: 2 ** 33 })).toEqual({ new_cold_sandbox: {} });
});

test.each([
  ["", "no bytes"],
  ["{", "malformed JSON"],
  ["[1]", "a list"],
  ['"x"', "a string"],
  ["null", "null"],
  ["\u0000\u00ff", "anything"],
])("of %j (%s) the kind is all that is known", (text) => {
  expect(hintOf("new_cold_sandbox", Buffer.from(text))).toEqual({ new_cold_sandbox: {} });
  expect(hintOf("new_sandbox", Buffer.from(text))).toEqual({ new_sandbox: {} });
});

test("of a body that was too long to read too", () => {
  expect(hintOf("new_cold_sandbox", null)).toEqual({ new_cold_sandbox: {} });
});

test("keys that the scheduler would refuse the whole request for are left out", () => {
  const body = Buffer.from('{"cpuCount":1,"metadata":{"__proto__":"x","a":"b"}}');
  expect(hintOf("new_cold_sandbox", body)).toEqual({ new_cold_sandbox: { cpu_count: 1, metadata: { a: "b" } } });
});

test("a hint always fits into a schedule call: amounts go before metadata", () => {
  const metadata = { long: "x".repeat(HINT_BYTES_MAX - 100) };
  expect(cold({ cpuCount: 2, metadata })).toEqual({ new_cold_sandbox: { cpu_count: 2 } });
});
