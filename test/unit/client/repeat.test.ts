import { describe, expect, test } from "vitest";
import { PlacementError, type PlacementErrorCode } from "../../../src/client/errors.ts";
import { repeat } from "../../../src/client/repeat.ts";
import { type FakeClock, fakeClock, turns } from "../../fakes/clock.ts";

const failure = (code: PlacementErrorCode, more: { status?: number; retryAfterMs?: number } = {}): PlacementError =>
  new PlacementError({ code, message: code, ...more });

/** Runs a call that fails with `error` for the first `times`, and notes when each try began. */
function tryFor(
  times: number,
  error: unknown,
  { withinMs = 10_000, fraction = 1, signal = undefined as AbortSignal | undefined } = {},
) {
  const clock = fakeClock();
  const triedAtMs: number[] = [];
  const leftMs: number[] = [];
  const run = async (left: number): Promise<string> => {
    triedAtMs.push(clock.monotonicMs());
    leftMs.push(left);
    if (triedAtMs.length <= times) throw error;
    return "answer";
  };
  const random = { fraction: () => fraction, bytes: () => new Uint8Array() };
  const result = repeat(run, { clock, random, withinMs, signal }).catch((thrown: unknown) => thrown);
  return { clock, triedAtMs, leftMs, result };
}

async function pass(clock: FakeClock, ms: number): Promise<void> {
  await turns(1);
  for (let passed = 0; passed < ms; passed += 50) {
    clock.advance(50);
    await turns(1);
  }
}

describe("what is repeated", () => {
  test.each<[PlacementErrorCode, number | undefined, boolean]>([
    ["unreachable", undefined, true],
    ["timeout", undefined, true],
    ["overloaded", 429, true],
    ["unavailable", 503, true],
    ["unexpected_answer", 502, true],
    ["unexpected_answer", 200, false],
    ["unexpected_answer", 404, false],
    ["no_nodes", 503, false],
    ["internal", 500, false],
    ["conflict", 409, false],
    ["expired", 410, false],
    ["not_found", 404, false],
    ["invalid_argument", 400, false],
    ["aborted", undefined, false],
  ])("%s (%s): %s", (code, status, repeatable) => {
    expect(failure(code, status === undefined ? {} : { status }).repeatable).toBe(repeatable);
  });
});

describe("when", () => {
  test("after waits that double from 100 ms to 2 s", async () => {
    const { clock, triedAtMs, result } = tryFor(7, failure("unreachable"));
    await pass(clock, 10_000);
    expect(await result).toBe("answer");
    expect(triedAtMs).toEqual([0, 100, 300, 700, 1_500, 3_100, 5_100, 7_100]);
  });

  test("by chance after half of that", async () => {
    const { clock, triedAtMs } = tryFor(2, failure("timeout"), { fraction: 0 });
    await pass(clock, 1_000);
    expect(triedAtMs).toEqual([0, 50, 150]);
  });

  test("not before the scheduler asked for", async () => {
    const { clock, triedAtMs } = tryFor(1, failure("overloaded", { status: 429, retryAfterMs: 3_000 }));
    await pass(clock, 4_000);
    expect(triedAtMs).toEqual([0, 3_000]);
  });

  test("never after the time that was given; the last error is thrown", async () => {
    const error = failure("unavailable", { status: 503 });
    const { clock, triedAtMs, result } = tryFor(100, error, { withinMs: 1_000 });
    await pass(clock, 5_000);
    expect(await result).toBe(error);
    expect(triedAtMs).toEqual([0, 100, 300, 700]);
  });

  test("once, where no time is left at all", async () => {
    const { triedAtMs, result } = tryFor(1, failure("unreachable"), { withinMs: 0 });
    expect(await result).toMatchObject({ code: "unreachable" });
    expect(triedAtMs).toEqual([0]);
  });

  test("each try is told what is left of the time, so that none outlasts it", async () => {
    const { clock, leftMs } = tryFor(100, failure("unavailable"), { withinMs: 1_000 });
    await pass(clock, 5_000);
    expect(leftMs).toEqual([1_000, 900, 700, 300]);
  });

  test("no more when the caller has gone, which is then the reason", async () => {
    const abort = new AbortController();
    const { clock, triedAtMs, result } = tryFor(100, failure("unreachable"), { signal: abort.signal });
    await turns();
    const reason = new Error("the tab was closed");
    abort.abort(reason);
    expect(await result).toMatchObject({ code: "aborted", cause: reason });
    await pass(clock, 1_000);
    expect(triedAtMs).toEqual([0]);
    expect(clock.pending).toBe(0);
  });
});
