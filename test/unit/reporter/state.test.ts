import { describe, expect, test } from "vitest";
import {
  initialState,
  onPublished,
  onRetry,
  onSent,
  type ReporterState,
  retryWaitMs,
  type SendOutcome,
} from "../../../src/actors/reporter/state.ts";

const body = (text: string): Uint8Array => new TextEncoder().encode(text);
const refresh = (refreshes: number) => ({ refreshes, body: body(`refresh ${refreshes}`) });

const ACCEPTED: SendOutcome = { kind: "accepted" };
const AWAY: SendOutcome = { kind: "away", why: "connect ECONNREFUSED" };
const REFUSED: SendOutcome = { kind: "refused", why: "node is not in scheduler node list" };

/** A reporter whose first report is under way. */
const sending = (): ReporterState => onPublished(initialState(), refresh(1)).state;

describe("what is a refresh", () => {
  test("a state before the first whole one is not sent", () => {
    expect(onPublished(initialState(), refresh(0))).toEqual({ state: initialState() });
  });

  test("the first whole one is, with sequence 1", () => {
    const { send, state } = onPublished(initialState(), refresh(1));
    expect(send).toEqual({ sequence: 1, resource: refresh(1).body });
    expect(state.phase).toBe("sending");
  });

  test("states in between carry no new number: they are neither sent nor counted", () => {
    const idle = onSent(sending(), ACCEPTED).state;
    const between = onPublished(idle, refresh(1));
    expect(between.send).toBeUndefined();
    expect(onPublished(between.state, refresh(2)).send?.sequence).toBe(2);
  });

  test("a cache that was restarted counts anew, and the sequence goes on", () => {
    const first = onSent(onPublished(initialState(), refresh(7)).state, ACCEPTED).state;
    const restarted = onPublished(first, refresh(0));
    expect(restarted.send).toBeUndefined();
    expect(onPublished(restarted.state, refresh(1)).send?.sequence).toBe(2);
  });
});

describe("one report under way, the newest kept", () => {
  test("refreshes that come meanwhile replace each other; the last is sent when the answer is there", () => {
    const second = onPublished(sending(), refresh(2));
    const third = onPublished(second.state, refresh(3));
    expect([second.send, third.send]).toEqual([undefined, undefined]);
    const answered = onSent(third.state, ACCEPTED);
    expect(answered.send).toEqual({ sequence: 3, resource: refresh(3).body });
    expect(answered.state.phase).toBe("sending");
  });

  test("with nothing newer it falls idle", () => {
    const answered = onSent(sending(), ACCEPTED);
    expect(answered.send).toBeUndefined();
    expect(answered.state.phase).toBe("idle");
  });

  test("during a back-off a refresh waits, and the retry sends the newest only", () => {
    const waiting = onSent(sending(), AWAY);
    expect(waiting.retryAfterFailures).toBe(1);
    const newer = onPublished(waiting.state, refresh(2));
    expect(newer.send).toBeUndefined();
    expect(onRetry(newer.state).send?.sequence).toBe(2);
  });

  test("a report that was lost is sent again under its own number when nothing is newer", () => {
    const again = onRetry(onSent(sending(), AWAY).state);
    expect(again.send?.sequence).toBe(1);
  });

  test("a retry that comes in another phase does nothing", () => {
    const idle = onSent(sending(), ACCEPTED).state;
    expect(onRetry(idle)).toEqual({ state: idle });
  });

  test("failures in a row are counted, and an accepted report ends the row", () => {
    const once = onSent(sending(), AWAY);
    const twice = onSent(onRetry(once.state).state, REFUSED);
    expect(twice.retryAfterFailures).toBe(2);
    const accepted = onSent(onRetry(twice.state).state, ACCEPTED).state;
    expect(onSent(onPublished(accepted, refresh(2)).state, AWAY).retryAfterFailures).toBe(1);
  });
});

describe("only a change of standing is logged", () => {
  const OTHER_REFUSAL: SendOutcome = { kind: "refused", why: "an endpoint is missing" };
  const OTHER_AWAY: SendOutcome = { kind: "away", why: "no answer within 5 s" };
  test.each<[string, SendOutcome, SendOutcome, boolean]>([
    ["accepted → accepted", ACCEPTED, ACCEPTED, false],
    ["accepted → away", ACCEPTED, AWAY, true],
    ["accepted → refused", ACCEPTED, REFUSED, true],
    ["away → accepted", AWAY, ACCEPTED, true],
    ["away → away for another reason", AWAY, OTHER_AWAY, false],
    ["away → refused", AWAY, REFUSED, true],
    ["refused → refused alike", REFUSED, REFUSED, false],
    ["refused → refused otherwise", REFUSED, OTHER_REFUSAL, true],
    ["refused → away", REFUSED, AWAY, true],
  ])("%s", (_name, before, now, isChange) => {
    const known = onSent(sending(), before);
    expect(known.changed).toEqual(before);
    const next = onSent({ ...known.state, phase: "sending" }, now);
    expect(next.changed).toEqual(isChange ? now : undefined);
  });
});

describe("the wait after a failure", () => {
  test.each([
    { failuresInRow: 1, intervalMs: 5_000, fraction: 0, expected: 5_000 },
    { failuresInRow: 1, intervalMs: 5_000, fraction: 0.5, expected: 7_500 },
    { failuresInRow: 3, intervalMs: 5_000, fraction: 0.5, expected: 22_500 },
    { failuresInRow: 4, intervalMs: 5_000, fraction: 1, expected: 60_000 },
    { failuresInRow: 1_000, intervalMs: 5_000, fraction: 1, expected: 60_000 },
    { failuresInRow: 1_000, intervalMs: 100, fraction: 0, expected: 100 },
    { failuresInRow: 5, intervalMs: 300_000, fraction: 0.9, expected: 300_000 },
  ])("after $failuresInRow of $intervalMs ms, chance $fraction: $expected ms", ({ expected, ...options }) => {
    expect(retryWaitMs(options)).toBe(expected);
  });
});
