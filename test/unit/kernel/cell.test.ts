import { EventEmitter } from "eventemitter3";
import { expect, test } from "vitest";
import { DEFAULT_BACKOFF } from "../../../src/actors/kernel/backoff.ts";
import { Cell, type KernelEvents } from "../../../src/actors/kernel/cell.ts";
import { openLocalHost } from "../../../src/actors/kernel/local-host.ts";
import { fakeClock, turns } from "../../fakes/clock.ts";
import { createActor } from "./actors/throws-on-boom.ts";

test("a place that cannot be had, such as a thread when tasks have run out, is tried again with back-off", async () => {
  const clock = fakeClock();
  const events = new EventEmitter<KernelEvents>();
  const failures: object[] = [];
  events.on("failed", (failure) => failures.push(failure));
  let attempts = 0;
  const cell = new Cell(
    { name: "late", mailboxCapacity: 10, onFailure: "restart", backoff: DEFAULT_BACKOFF, clock, events },
    (_inherited, hostEvents) => {
      if (++attempts < 3) throw new Error("EAGAIN");
      return openLocalHost(() => createActor() as never, hostEvents);
    },
  );
  expect(cell.state).toBe("waiting");
  clock.advance(1_000);
  clock.advance(2_000);
  await turns();
  expect(cell.state).toBe("running");
  expect(failures).toEqual([
    { actor: "late", reason: "EAGAIN", retryMs: 1_000 },
    { actor: "late", reason: "EAGAIN", retryMs: 2_000 },
  ]);
});
