import { EventEmitter } from "node:events";
import type { FastifyReply } from "fastify";
import { expect, test } from "vitest";
import { Shutdown, waitAtMost } from "../../../src/actors/gateway/waiting.ts";
import { fakeClock } from "../../fakes/clock.ts";

/** As much of a reply as a wait looks at. */
class RawReply extends EventEmitter {
  destroyed = false;
  closed = false;
  writableFinished = false;

  get reply(): FastifyReply {
    return { raw: this } as unknown as FastifyReply;
  }

  close(): void {
    this.closed = true;
    this.emit("close");
  }
}

test("a client that leaves before its answer ends its own wait, one that was answered ends none", () => {
  const shutdown = new Shutdown();
  const [leaves, stays, answered] = [new RawReply(), new RawReply(), new RawReply()];
  const signals = [leaves, stays, answered].map(({ reply }) => shutdown.waitForClient(reply).signal);
  leaves.close();
  answered.writableFinished = true;
  answered.close();
  expect(signals.map(({ aborted, reason }) => [aborted, reason])).toEqual([
    [true, "client_gone"],
    [false, undefined],
    [false, undefined],
  ]);
});

test("nothing is kept of a client that has gone already: its end, told before, would never let go of it", () => {
  const shutdown = new Shutdown();
  const [closed, open] = [new RawReply(), new RawReply()];
  closed.close();
  const signals = [closed, open].map(({ reply }) => shutdown.waitForClient(reply).signal);
  expect(signals.map(({ reason }) => reason)).toEqual(["client_gone", undefined]);
  expect([closed, open].map((raw) => raw.listenerCount("close"))).toEqual([0, 1]);
});

test("the gateway's stop ends every wait that is under way, and those that begin later", () => {
  const shutdown = new Shutdown();
  const [over, early, late, gone] = [new RawReply(), new RawReply(), new RawReply(), new RawReply()];
  const first = shutdown.waitForClient(over.reply).signal;
  over.writableFinished = true;
  over.close();
  const second = shutdown.waitForClient(early.reply).signal;
  shutdown.begin();
  gone.destroyed = true;
  const signals = [first, second, shutdown.waitForClient(late.reply).signal, shutdown.waitForClient(gone.reply).signal];
  expect(signals.map(({ reason }) => reason)).toEqual([undefined, "shutdown", "shutdown", "client_gone"]);
});

test("a deadline ends what waits within it only, and once lifted passes without effect", () => {
  const clock = fakeClock();
  const whole = new AbortController();
  const [passed, lifted] = [waitAtMost(whole, 100, clock), waitAtMost(whole, 100, clock)];
  lifted.lift();
  clock.advance(100);
  expect([passed, lifted, whole].map(({ signal }) => signal.reason)).toEqual(["timeout", undefined, undefined]);
  whole.abort("client_gone");
  expect([passed, lifted, waitAtMost(whole, 100, clock)].map(({ signal }) => signal.reason)).toEqual([
    "timeout",
    "client_gone",
    "client_gone",
  ]);
});
