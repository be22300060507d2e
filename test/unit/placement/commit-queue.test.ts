import { describe, expect, test } from "vitest";
import { CommitQueue } from "../../../src/actors/placement/commit-queue.ts";
import { placementEventsOf } from "../../../src/actors/placement/event-log.ts";
import type { PlacementEvent } from "../../../src/actors/placement/events.ts";
import { ScriptedLog } from "./scripted-log.ts";

const event = (position: number): PlacementEvent => ({
  position,
  wallMs: 0,
  change: { type: "uncordoned", nodeId: "n" },
});

function newQueue() {
  const log = new ScriptedLog();
  const settled: string[] = [];
  const failures: string[] = [];
  const queue = new CommitQueue(log, (reason) => failures.push(`${reason} after ${settled.length}`));
  const add = (name: string, ...positions: number[]): void =>
    queue.add(positions.map(event), (committed) => settled.push(`${name} ${committed}`));
  return { log, queue, add, settled, failures };
}

describe("answers leave at their log position (placement.md, 7)", () => {
  test("one batch is in flight; what is decided meanwhile is the next, in order", () => {
    const { log, queue, add, settled } = newQueue();
    add("a", 1);
    add("b", 2, 3);
    queue.flush();
    add("c", 4);
    queue.flush();
    add("d", 5);
    expect(log.open.map(({ entries }) => [...placementEventsOf(entries)].map(({ position }) => position))).toEqual([
      [1, 2, 3],
    ]);
    log.open[0]?.end(null);
    expect(settled).toEqual(["a true", "b true"]);
    expect(log.open.map(({ entries }) => [...placementEventsOf(entries)].map(({ position }) => position))).toEqual([
      [4, 5],
    ]);
    log.open[0]?.end(null);
    expect(settled).toEqual(["a true", "b true", "c true", "d true"]);
    expect(queue.idle).toBe(true);
  });

  test("a decision without events waits for those in flight before it, and for none otherwise", () => {
    const { log, queue, add, settled } = newQueue();
    add("read");
    queue.flush();
    expect(settled).toEqual(["read true"]);
    add("write", 1);
    queue.flush();
    add("read");
    queue.flush();
    expect(settled).toEqual(["read true"]);
    log.open[0]?.end(null);
    expect(settled).toEqual(["read true", "write true", "read true"]);
    expect(log.appends).toBe(1);
  });

  test("a failed commit settles what is in flight and what has been gathered since, and only then says so", () => {
    const { log, queue, add, settled, failures } = newQueue();
    add("a", 1);
    queue.flush();
    add("b", 2);
    add("read");
    log.open[0]?.end("disk full");
    expect(settled).toEqual(["a false", "b false", "read false"]);
    expect(failures).toEqual(["disk full after 3"]);
    expect(log.appends).toBe(1);
    expect(queue.idle).toBe(true);
  });

  test("a log that ends an append twice settles nothing of the next batch", () => {
    const { log, queue, add, settled, failures } = newQueue();
    add("a", 1);
    queue.flush();
    const first = log.open[0];
    add("b", 2);
    first?.end(null);
    first?.end("again");
    expect(settled).toEqual(["a true"]);
    expect(failures).toEqual([]);
  });
});
