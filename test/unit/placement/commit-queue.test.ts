import { describe, expect, test } from "vitest";
import { CommitQueue } from "../../../src/actors/placement/commit-queue.ts";
import { placementEventsOf } from "../../../src/actors/placement/event-log.ts";
import type { PlacementEvent } from "../../../src/actors/placement/events.ts";
import { fakeClock } from "../../fakes/clock.ts";
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
  const clock = fakeClock();
  const onFailed = (reason: string): void => void failures.push(`${reason} after ${settled.length}`);
  const queue = new CommitQueue({ log, clock, onFailed });
  const add = (name: string, ...positions: number[]): void =>
    queue.add(positions.map(event), (committed) => settled.push(`${name} ${committed}`));
  return { log, clock, queue, add, settled, failures };
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
    expect([queue.waiting, log.open.length, log.appends]).toEqual([0, 0, 2]);
    // Nothing is in flight: the next is appended at once.
    add("e", 6);
    queue.flush();
    expect([queue.waiting, log.open.length, log.appends]).toEqual([0, 1, 3]);
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
    expect([queue.waiting, log.open.length, log.appends]).toEqual([0, 0, 1]);
    add("c", 3);
    queue.flush();
    expect([queue.waiting, log.open.length, log.appends]).toEqual([0, 1, 2]);
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

describe("after an append the next waits for company", () => {
  /** One append of `appendMs` with two decisions, while a third is gathered. */
  function afterAppend(appendMs: number) {
    const world = newQueue();
    const { log, clock, queue, add } = world;
    add("a", 1);
    add("b", 2);
    queue.flush();
    add("c", 3);
    queue.flush();
    clock.advance(appendMs);
    log.open[0]?.end(null);
    return { ...world, batches: () => log.open.map(({ entries }) => entries.length) };
  }

  test("until as many have gathered as were waiting when it ended", () => {
    const { queue, add, batches } = afterAppend(3);
    expect(batches()).toEqual([]);
    add("d", 4);
    queue.flush();
    expect(batches()).toEqual([]);
    add("e", 5);
    queue.flush();
    expect(batches()).toEqual([3]);
  });

  test("for half of the time that it took, and for 2 ms at most", () => {
    for (const [appendMs, waitMs] of [
      [3, 1.5],
      [100, 2],
    ] as const) {
      const { clock, batches } = afterAppend(appendMs);
      clock.advance(waitMs - 0.1);
      expect(batches()).toEqual([]);
      clock.advance(0.1);
      expect(batches()).toEqual([1]);
    }
  });

  test("never where the log is quick, nor for a lone caller", () => {
    expect(afterAppend(0).batches()).toEqual([1]);
    const { log, clock, queue, add } = newQueue();
    for (let turn = 1; turn <= 3; turn++) {
      add("alone", turn);
      queue.flush();
      expect(log.open).toHaveLength(1);
      clock.advance(5);
      log.open[0]?.end(null);
    }
  });
});
