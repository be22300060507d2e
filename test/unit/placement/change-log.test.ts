import { EventEmitter } from "eventemitter3";
import { expect, test } from "vitest";
import { logChanges } from "../../../src/actors/placement/change-log.ts";
import type { Change, Notice, PlacementEvents } from "../../../src/actors/placement/client.ts";
import { recordingLog } from "../../fakes/log.ts";

function logged(change: Change | null, notice: Notice | null = null): string[] {
  const events = new EventEmitter<PlacementEvents>();
  const log = recordingLog();
  logChanges(events, log);
  events.emit("committed", {
    events: change === null ? [] : [{ position: 1, wallMs: 0, change }],
    notices: notice === null ? [] : [notice],
  });
  return log.lines.map(({ level, text }) => `${level}: ${text}`);
}

test("a change of condition is one line with the value that caused it", () => {
  expect(logged({ type: "condition_entered", nodeId: "n1", condition: "MEMORY_PRESSURE", value: 0.93 })).toEqual([
    "warn: node n1 is under MEMORY_PRESSURE at 0.93",
  ]);
  const left: Change = {
    type: "condition_left",
    nodeId: "n1",
    condition: "MEMORY_PRESSURE",
    cause: "recovered",
    value: 0.7,
  };
  expect(logged(left)).toEqual(["info: node n1 has left MEMORY_PRESSURE: recovered"]);
});

test("what happens to reservations is not logged, and so no token is", () => {
  expect(logged({ type: "cancelled", id: "rs_1", reason: "failed" })).toEqual([]);
  expect(logged({ type: "expired", id: "rs_1", reason: "lease" })).toEqual([]);
});

test("what an operator should look into is a warning, what is broken an error", () => {
  expect(logged(null, { type: "identity_conflict", nodeId: "n1", part: "runtime" })[0]).toMatch(/^warn: /);
  expect(logged(null, { type: "stalled", silentMs: 20_000.4 })).toEqual([
    "warn: this process stood still for 20000 ms",
  ]);
  expect(logged(null, { type: "handler_failed", message: "boom" })[0]).toMatch(/^error: .*boom/);
  expect(logged(null, { type: "report_ignored", nodeId: "n1", part: "events" })).toEqual([]);
});
