import { expect, test, vi } from "vitest";
import { usualBounds } from "../../../src/actors/api/bounds.ts";
import { type ApiThreadInit, type ApiThreadReplies, createActor } from "../../../src/actors/api/threads/actor.ts";
import type { DeskMessage } from "../../../src/actors/api/threads/desk.ts";
import type { ActorContext } from "../../../src/actors/kernel/actor.ts";
import type { Message } from "../../../src/actors/kernel/message.ts";
import type { Outcome } from "../../../src/actors/kernel/outcome.ts";
import { type References, referenceTo } from "../../../src/actors/kernel/references.ts";
import { systemClock } from "../../../src/ports/clock.ts";
import { systemRandom } from "../../../src/ports/random.ts";
import { recordingLog } from "../../fakes/log.ts";
import { callFresh } from "./fresh-call.ts";

const LATE: Outcome<never> = { ok: false, error: { code: "deadline", message: "nobody answers" } };

/** An API thread in this thread, with a desk that says what the test wants. */
function newThread(desk: (message: DeskMessage) => Outcome<unknown>) {
  const reference = (answer: (message: never) => Outcome<unknown>): References[string] => ({
    name: "any",
    mailboxCapacity: 1,
    tell: () => null,
    ask: async (message) => answer(message),
    askThen: (message, _options, onOutcome) => queueMicrotask(() => onOutcome(answer(message))),
  });
  const references = { desk: reference(desk), placement: reference(() => LATE), directory: reference(() => LATE) };
  const toldItself: Message[] = [];
  const context: ActorContext = {
    name: "api-1",
    clock: systemClock,
    random: systemRandom,
    log: recordingLog(),
    tellSelf: (message) => void toldItself.push(message),
    post: () => undefined,
    reference: (name) => referenceTo(references, name),
  };
  const init: ApiThreadInit = {
    version: "0",
    bounds: usualBounds,
    metricsContentType: "text/plain",
    connectionCounts: new Int32Array(1),
    position: 0,
  };
  const actor = createActor(init, context);
  const listen = () =>
    new Promise<ApiThreadReplies["listen"]>((resolve) => {
      const answer = (value: unknown) => resolve(value as ApiThreadReplies["listen"]);
      actor.receive({ type: "listen", address: { host: "127.0.0.1", port: 0 } }, answer);
    });
  return { actor, listen, toldItself };
}

const opening = { ok: true, value: { admission: { tokens: null, tls: null }, address: null } } as const;

test("is not alive when the main thread does not answer, and says so itself", async () => {
  const { actor, listen } = newThread((message) => (message.type === "opening" ? opening : LATE));
  const { address } = await listen();
  const { status, text } = await callFresh(`http://127.0.0.1:${address?.port}`, { path: "/healthz" });
  expect({ status, ...JSON.parse(text).error }).toEqual({
    status: 503,
    code: "unavailable",
    message: "the scheduler's main thread does not answer",
    details: { retry: "unchanged" },
  });
  expect((await callFresh(`http://127.0.0.1:${address?.port}`, { path: "/metrics" })).status).toBe(500);
  actor.stopped?.();
});

test("fails when it cannot learn who is let in, so that its supervisor starts it again", async () => {
  const { actor, toldItself } = newThread(() => LATE);
  await vi.waitFor(() => expect(toldItself).toEqual([{ type: "failed", reason: "nobody answers" }]));
  expect(() => actor.receive({ type: "failed", reason: "nobody answers" }, () => undefined)).toThrow("nobody answers");
});
