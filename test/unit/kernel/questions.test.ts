import { expect, test } from "vitest";
import type { Answer } from "../../../src/actors/kernel/actor.ts";
import type { Envelope } from "../../../src/actors/kernel/mailbox.ts";
import type { Message } from "../../../src/actors/kernel/message.ts";
import type { Outcome } from "../../../src/actors/kernel/outcome.ts";
import { createReference, type Post } from "../../../src/actors/kernel/reference.ts";
import { ActorSystem } from "../../../src/actors/kernel/system.ts";
import { seededRandom } from "../../../src/ports/random.ts";
import { fakeClock, turns } from "../../fakes/clock.ts";
import { recordingLog } from "../../fakes/log.ts";

interface Count extends Message {
  readonly type: "number";
  readonly value: number;
}

/** An actor that answers what it was sent, when it is drained; what is sent to it at `capacity` is refused. */
function startEcho(capacity = 100) {
  const clock = fakeClock();
  const system = new ActorSystem({ clock, random: seededRandom(1), logFor: () => recordingLog() });
  const log: string[] = [];
  const answers: (() => void)[] = [];
  const echo = system.spawnLocal<Count, { number: number }>(
    "echo",
    {
      create: () => ({
        receive: ({ value }: Count, answer: Answer) => void answers.push(() => answer(value)),
        drained: () => {
          for (const answer of answers.splice(0)) answer();
          log.push("drained");
        },
      }),
    },
    { mailboxCapacity: capacity },
  );
  const askThen = (value: number, onOutcome: (outcome: Outcome<number>) => void) =>
    echo.askThen({ type: "number", value }, { deadlineMs: 100 }, onOutcome);
  return { clock, log, askThen };
}

test("the outcome of a question is handed over when the turn that answers it is through, in the order of the answers", async () => {
  const { log, askThen } = startEcho();
  for (const value of [1, 2, 3])
    askThen(value, (outcome) => void log.push(outcome.ok ? String(outcome.value) : "lost"));
  expect(log).toEqual([]);
  await turns();
  expect(log).toEqual(["drained", "1", "2", "3"]);
});

test("one that is refused at once ends after askThen has returned all the same", async () => {
  const { log, askThen } = startEcho(1);
  askThen(1, () => void log.push("answered"));
  askThen(2, (outcome) => void log.push(outcome.ok ? "answered too" : outcome.error.code));
  log.push("returned");
  await turns();
  expect(log).toEqual(["returned", "mailbox_full", "drained", "answered"]);
});

test("answer, failure and deadline settle it once, whichever comes first", async () => {
  const clock = fakeClock();
  const outcomes: Outcome<number>[] = [];
  let envelope: Envelope | null = null;
  const post: Post = (posted) => {
    envelope = posted;
    return null;
  };
  const reference = createReference<Count, { number: number }>({ name: "slow", mailboxCapacity: 9, clock, post });
  const ask = () =>
    reference.askThen({ type: "number", value: 1 }, { deadlineMs: 100 }, (outcome) => void outcomes.push(outcome));
  const ways: readonly (() => void)[] = [
    () => envelope?.answer?.(7),
    () => envelope?.fail?.("failed", "because"),
    () => clock.advance(100),
  ];
  for (const first of ways) {
    ask();
    first();
    for (const other of ways) other();
    await turns(1);
  }
  expect(outcomes).toEqual([
    { ok: true, value: 7 },
    { ok: false, error: { code: "failed", message: 'slow could not handle "number": because' } },
    { ok: false, error: { code: "deadline", message: 'slow did not answer "number" within 100 ms' } },
  ]);
  expect(clock.pending).toBe(0);
});

test("an answer after the deadline is given to onLate, once; one in time, and a late failure, are not", async () => {
  const clock = fakeClock();
  const outcomes: boolean[] = [];
  const late: unknown[] = [];
  const posted: Envelope[] = [];
  const post: Post = (envelope) => {
    posted.push(envelope);
    return null;
  };
  const reference = createReference<Count, { number: number }>({ name: "slow", mailboxCapacity: 9, clock, post });
  const options = { deadlineMs: 100, onLate: (answer: unknown) => late.push(answer) };
  for (let asked = 0; asked < 3; asked++) {
    reference.askThen({ type: "number", value: 1 }, options, ({ ok }) => void outcomes.push(ok));
  }
  posted[0]?.answer?.(1);
  posted[0]?.answer?.(2);
  clock.advance(100);
  await turns(1);
  expect([outcomes, late]).toEqual([[true, false, false], []]);
  posted[1]?.fail?.("failed", "because");
  posted[2]?.answer?.(3);
  await turns(1);
  expect([outcomes, late]).toEqual([[true, false, false], [3]]);
});
