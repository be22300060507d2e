import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { readBeginning, rejoin } from "../../../src/actors/gateway/body.ts";
import { sandboxIdInBody, sandboxIdInHeaders } from "../../../src/actors/gateway/sandbox-id.ts";

test.each([
  [{ "x-agentenv-sandbox-id": "a", "e2b-sandbox-id": "b" }, "a"],
  [{ "e2b-sandbox-id": "b" }, "b"],
  [{ "x-agentenv-sandbox-id": "", "e2b-sandbox-id": "b" }, "b"],
  [{ "x-agentenv-sandbox-id": ["a", "b"] }, null],
  [{ "x-agentenv-sandbox-id": "a b" }, null],
  [{}, null],
])("in headers %j: %s", (headers, id) => expect(sandboxIdInHeaders(headers as Record<string, string>)).toBe(id));

test.each([
  ['{"sandboxID":"a","sandboxId":"b","sandbox_id":"c","id":"d"}', "a"],
  ['{"sandboxId":"b","sandbox_id":"c","id":"d"}', "b"],
  ['{"sandbox_id":"c","id":"d"}', "c"],
  ['{"id":"d"}', "d"],
  ['{"sandboxID":7,"id":"d"}', "d"],
  ['{"sandboxID":""}', null],
  ['{"sandbox":{"id":"d"}}', null],
  ['["d"]', null],
  ["null", null],
  ["{", null],
  ["", null],
])("in the body %s: %s", (body, id) => expect(sandboxIdInBody(Buffer.from(body), undefined)).toBe(id));

test.each([
  ["gzip", gzipSync],
  ["deflate", deflateSync],
  ["br", brotliCompressSync],
])("in a body packed with %s", (encoding, pack) => {
  expect(sandboxIdInBody(pack('{"id":"a"}'), encoding)).toBe("a");
  // More than 1 MiB unpacked is no answer to a create.
  expect(sandboxIdInBody(pack(`{"id":"a","pad":"${"x".repeat(2 ** 20)}"}`), encoding)).toBeNull();
});

test.each([
  [[], 4, true],
  [["ab", "cd"], 4, true],
  [["ab", "cde"], 4, false],
  [["ab", "cd", "ef", "gh"], 4, false],
])("the beginning of %j within %i bytes is all of it: %s", async (chunks: string[], bytesMax, whole) => {
  const beginning = await readBeginning(Readable.from(chunks.map((each) => Buffer.from(each))), bytesMax);
  expect(beginning.rest === null).toBe(whole);
  const rejoined = rejoin(beginning);
  const bytes = Buffer.isBuffer(rejoined) ? rejoined : await buffer(rejoined);
  expect(bytes.toString()).toBe(chunks.join(""));
});
