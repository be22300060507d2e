import { once } from "node:events";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { afterEach, expect, test, vi } from "vitest";
import type { Actor, Answer } from "../../../src/actors/kernel/actor.ts";
import type { Refusal } from "../../../src/actors/kernel/cell.ts";
import type { FromWorker, Settled } from "../../../src/actors/kernel/far-protocol.ts";
import { FarReferences } from "../../../src/actors/kernel/far-references.ts";
import type { Message } from "../../../src/actors/kernel/message.ts";
import type { Outcome } from "../../../src/actors/kernel/outcome.ts";
import type { AnyReference } from "../../../src/actors/kernel/references.ts";
import { serveReferences } from "../../../src/actors/kernel/served-references.ts";
import { ActorSystem } from "../../../src/actors/kernel/system.ts";
import { systemRandom } from "../../../src/ports/random.ts";
import { type FakeClock, fakeClock, turns } from "../../fakes/clock.ts";
import { recordingLog } from "../../fakes/log.ts";

/** Echoes at once, when it is told to go on, or never; keeps the order in which it was spoken to. */
type EchoMessage = { readonly type: "echo" | "hold" | "go_on" | "boom"; readonly text?: unknown };
type EchoReplies = { echo: unknown; hold: unknown };

class Echo implements Actor<EchoMessage> {
  readonly heard: unknown[] = [];
  #held: Answer[] = [];

  receive({ type, text }: EchoMessage, answer: Answer): void {
    this.heard.push(text ?? type);
    if (type === "boom") throw new Error("boom, as told");
    if (type === "echo") answer(text);
    else if (type === "hold") this.#held.push(answer);
    else for (const held of this.#held.splice(0)) held("held");
  }
}

const ports: MessagePort[] = [];
afterEach(() => {
  for (const port of ports.splice(0)) port.close();
});

interface World {
  readonly echo: Echo;
  readonly clock: FakeClock;
  readonly near: MessagePort;
  readonly far: FarReferences;
  readonly reference: ReturnType<FarReferences["reference"]>;
  /** How many messages each post carried, towards the actor and back. */
  readonly undelivered: unknown[];
  readonly refused: Refusal[];
  readonly posts: { readonly there: number[]; readonly back: number[] };
}

function spied(port: MessagePort, sizes: number[]): void {
  const post = port.postMessage.bind(port);
  vi.spyOn(port, "postMessage").mockImplementation((batch: readonly Settled[] | FromWorker) => {
    post(batch);
    if (!("refused" in batch)) sizes.push(("posted" in batch ? batch.posted : batch).length);
  });
}

function newWorld({ mailboxCapacity = 100, underWayMax = 100 } = {}): World {
  const clock = fakeClock();
  const system = new ActorSystem({ clock, random: systemRandom, logFor: () => recordingLog() });
  const echo = new Echo();
  const local = system.spawnLocal<EchoMessage, EchoReplies>(
    "echo",
    { create: () => echo },
    { mailboxCapacity, onFailure: "resume" },
  );
  const { port1, port2 } = new MessageChannel();
  ports.push(port1, port2);
  const posts = { there: [] as number[], back: [] as number[] };
  spied(port1, posts.back);
  spied(port2, posts.there);
  const undelivered: unknown[] = [];
  const noting = (message: Message, outcome: Outcome<unknown>) => void undelivered.push([message, outcome]);
  const refused: Refusal[] = [];
  const onRefused = (refusal: Refusal) => void refused.push(refusal);
  serveReferences(port1, { friend: { ...local, undelivered: noting } }, { isGone: () => false, onRefused });
  const far = new FarReferences(port2, clock);
  const reference = far.reference({ name: "friend", underWayMax });
  return { echo, clock, near: port1, far, reference, undelivered, refused, posts };
}

const UNWATCHED = { isGone: () => false, onRefused: () => undefined };
const DEADLINE = { deadlineMs: 1_000 };
const asking = (type: EchoMessage["type"], text?: unknown): Message => ({ type, text }) as Message;

/** Takes everything, and answers at once. */
function answering(next: () => unknown): AnyReference {
  const outcome = (): Outcome<never> => ({ ok: true, value: next() as never });
  return {
    name: "any",
    mailboxCapacity: 1,
    tell: () => null,
    ask: async () => outcome(),
    askThen: (_message, _options, onOutcome) => onOutcome(outcome()),
  };
}

test("two questions of one turn are one post, and their answers are one; those of two turns are two", async () => {
  const { reference, posts } = newWorld();
  const both = await Promise.all([
    reference.ask(asking("echo", "a"), DEADLINE),
    reference.ask(asking("echo", { b: [1, null] }), DEADLINE),
  ]);
  expect(both).toEqual([
    { ok: true, value: "a" },
    { ok: true, value: { b: [1, null] } },
  ]);
  expect(posts).toEqual({ there: [2], back: [2] });
  await reference.ask(asking("echo", "c"), DEADLINE);
  expect(posts).toEqual({ there: [2, 1], back: [2, 1] });
});

test("messages arrive in the order in which they were told and asked, urgent ones first of what waits", async () => {
  const { reference, echo } = newWorld();
  reference.tell(asking("echo", 1));
  const asked = reference.ask(asking("echo", 2), DEADLINE);
  reference.tell(asking("echo", 3), "urgent");
  reference.tell(asking("echo", 4));
  await asked;
  await vi.waitFor(() => expect(echo.heard).toEqual([3, 1, 2, 4]));
});

test("an answer after both deadlines is undelivered; one after the asker's alone is given to it", async () => {
  const { reference, clock, echo, undelivered } = newWorld();
  const late: unknown[] = [];
  const options = { deadlineMs: 1_000, onLate: (answer: unknown) => late.push(answer) };
  const asked = reference.ask(asking("hold"), options);
  await vi.waitFor(() => expect(echo.heard).toEqual(["hold"]));
  clock.advance(1_000);
  expect(await asked).toMatchObject({ ok: false, error: { code: "deadline" } });
  await turns();
  reference.tell(asking("go_on"));
  await vi.waitFor(() => expect(undelivered).toEqual([[asking("hold"), { ok: true, value: "held" }]]));
  expect(late).toEqual([]);

  // The other thread begins to count when the question comes, which is after this deadline.
  const outrun = reference.ask(asking("echo", "a"), options);
  clock.advance(1_000);
  expect(await outrun).toMatchObject({ ok: false, error: { code: "deadline" } });
  await vi.waitFor(() => expect(late).toEqual(["a"]));
});

test("a question ends at its deadline, not before, in the words of a local reference", async () => {
  const { reference, clock, echo } = newWorld();
  let ended: unknown = null;
  const asked = reference.ask(asking("hold"), DEADLINE).then((outcome) => {
    ended = outcome;
  });
  await vi.waitFor(() => expect(echo.heard).toEqual(["hold"]));
  clock.advance(999);
  await turns();
  expect(ended).toBeNull();
  clock.advance(1);
  await asked;
  expect(ended).toEqual({
    ok: false,
    error: { code: "deadline", message: 'friend did not answer "hold" within 1000 ms' },
  });
});

test("a full mailbox refuses, as it does a neighbour, and nothing else is lost", async () => {
  const { reference } = newWorld({ mailboxCapacity: 2 });
  const outcomes = await Promise.all([1, 2, 3].map((text) => reference.ask(asking("echo", text), DEADLINE)));
  expect(outcomes).toEqual([
    { ok: true, value: 1 },
    { ok: true, value: 2 },
    { ok: false, error: { code: "mailbox_full", message: 'echo did not take "echo": its mailbox is full' } },
  ]);
});

test("while the other thread handles nothing the port is bounded, each lane for itself; what comes back makes room", async () => {
  const { reference, clock, echo } = newWorld({ underWayMax: 2 });
  const held = [reference.ask(asking("hold"), DEADLINE), reference.ask(asking("hold"), DEADLINE)];
  const refused = { code: "mailbox_full", message: 'friend did not take "echo": its mailbox is full' };
  expect(await reference.ask(asking("echo", 1), DEADLINE)).toEqual({ ok: false, error: refused });
  expect(reference.tell(asking("echo", 1))).toEqual(refused);
  await vi.waitFor(() => expect(echo.heard).toEqual(["hold", "hold"]));
  clock.advance(999);
  expect(reference.tell(asking("echo", 1))).toEqual(refused);
  expect(reference.tell(asking("go_on"), "urgent")).toBeNull();
  expect(await Promise.all(held)).toEqual(Array(2).fill({ ok: true, value: "held" }));
  expect(reference.tell(asking("echo", 2))).toBeNull();
});

test("what is refused for want of room is told to where the actor is, with its own name, once something comes back", async () => {
  const { reference, refused, echo } = newWorld({ underWayMax: 1 });
  const held = reference.ask(asking("hold"), DEADLINE);
  await vi.waitFor(() => expect(echo.heard).toEqual(["hold"]));
  for (const type of ["echo", "echo", "hold"] as const) {
    expect(await reference.ask(asking(type), DEADLINE)).toMatchObject({ ok: false, error: { code: "mailbox_full" } });
  }
  expect(reference.tell(asking("echo"))).toMatchObject({ code: "mailbox_full" });
  await turns();
  expect(refused).toEqual([]);
  reference.tell(asking("go_on"), "urgent");
  await held;
  const both = [
    { actor: "echo", type: "echo", count: 3 },
    { actor: "echo", type: "hold", count: 1 },
  ];
  await vi.waitFor(() => expect(refused).toEqual(both));
  await reference.ask(asking("echo"), DEADLINE);
  expect(refused).toEqual(both);
});

test("a question that nobody waits for any more takes up room until it comes back", async () => {
  const clock = fakeClock();
  const { port1, port2 } = new MessageChannel();
  ports.push(port1, port2);
  const reference = new FarReferences(port2, clock).reference({ name: "stuck", underWayMax: 1 });
  const asked = reference.ask(asking("echo"), DEADLINE);
  clock.advance(1_000);
  expect(await asked).toMatchObject({ ok: false, error: { code: "deadline" } });
  expect(reference.tell(asking("echo"))).toMatchObject({ code: "mailbox_full" });
  expect(reference.tell(asking("echo"), "urgent")).toBeNull();
  serveReferences(port1, { stuck: answering(() => null) }, UNWATCHED);
  await vi.waitFor(() => expect(reference.tell(asking("echo"))).toBeNull());
});

test("a handler that throws, and an answer or a message that is no plain data, fail that question only", async () => {
  const { reference, posts } = newWorld();
  const notPlain = () => undefined;
  const outcomes = await Promise.all([
    reference.ask(asking("echo", "before"), DEADLINE),
    reference.ask(asking("boom"), DEADLINE),
    reference.ask(asking("echo", notPlain), DEADLINE),
    reference.ask(asking("echo", "after"), DEADLINE),
  ]);
  expect(outcomes).toMatchObject([
    { ok: true, value: "before" },
    { ok: false, error: { code: "failed", message: 'echo could not handle "boom": boom, as told' } },
    {
      ok: false,
      error: { code: "failed", message: expect.stringMatching(/^friend could not handle "echo": .*clone/) },
    },
    { ok: true, value: "after" },
  ]);
  expect(posts.there).toEqual([1, 1, 1]);
});

test("an answer that is no plain data fails its question, and not the others of its batch", async () => {
  const clock = fakeClock();
  const { port1, port2 } = new MessageChannel();
  ports.push(port1, port2);
  const answers = [() => undefined, "plain"];
  serveReferences(port1, { odd: answering(() => answers.shift()) }, UNWATCHED);
  const reference = new FarReferences(port2, clock).reference({ name: "odd", underWayMax: 2 });
  const outcomes = await Promise.all([1, 2].map(() => reference.ask(asking("echo"), DEADLINE)));
  expect(outcomes).toMatchObject([
    { ok: false, error: { code: "failed", message: expect.stringMatching(/^its answer cannot cross threads: /) } },
    { ok: true, value: "plain" },
  ]);
});

test("when the other side is gone, what is under way and what comes later ends as dead", async () => {
  const { reference, near, echo } = newWorld();
  const held = reference.ask(asking("hold"), DEADLINE);
  await vi.waitFor(() => expect(echo.heard).toEqual(["hold"]));
  near.close();
  expect(await held).toMatchObject({ ok: false, error: { code: "actor_dead" } });
  const dead = { code: "actor_dead", message: 'friend did not take "echo": it is not running' };
  expect(await reference.ask(asking("echo"), DEADLINE)).toEqual({ ok: false, error: dead });
  expect(reference.tell(asking("echo"))).toEqual(dead);
});

test("an outcome that comes after its asker has gone is undelivered, and said to be", async () => {
  const { far, near, echo, reference, undelivered } = newWorld();
  const held = reference.ask(asking("hold"), DEADLINE);
  reference.ask(asking("echo", "answered in time"), DEADLINE);
  await vi.waitFor(() => expect(echo.heard).toHaveLength(2));
  const closed = once(near, "close");
  far.close();
  await Promise.all([closed, held]);
  expect(undelivered).toEqual([]);
  echo.receive({ type: "go_on" }, () => undefined);
  await turns();
  expect(undelivered).toEqual([
    [
      { type: "hold", text: undefined },
      { ok: true, value: "held" },
    ],
  ]);
});

test("closing delivers what was told before, and closes the other end", async () => {
  const { reference, far, near, echo } = newWorld();
  reference.tell(asking("echo", "last word"));
  const closed = once(near, "close");
  far.close();
  await closed;
  await vi.waitFor(() => expect(echo.heard).toEqual(["last word"]));
});
