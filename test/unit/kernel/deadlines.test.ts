import { describe, expect, test } from "vitest";
import { Deadlines } from "../../../src/actors/kernel/deadlines.ts";
import { fakeClock } from "../../fakes/clock.ts";

function newDeadlines() {
  const clock = fakeClock();
  const deadlines = new Deadlines(clock);
  const expired: string[] = [];
  const set = (name: string, afterMs: number) =>
    deadlines.set(afterMs, () => void expired.push(`${name} at ${clock.monotonicMs()}`));
  return { clock, deadlines, expired, set };
}

describe("deadlines", () => {
  test("each expires at its own time, however many share the timer", () => {
    const { clock, expired, set } = newDeadlines();
    set("a", 100);
    clock.advance(30);
    set("b", 100);
    set("short", 50);
    clock.advance(1);
    set("c", 100);
    clock.advance(1_000);
    expect(expired).toEqual(["short at 80", "a at 100", "b at 130", "c at 131"]);
    expect(clock.pending).toBe(0);
  });

  test("a cancelled one does not expire, the ones around it do", () => {
    const { clock, deadlines, expired, set } = newDeadlines();
    set("a", 100);
    const second = set("b", 100);
    set("c", 100);
    deadlines.cancel(second);
    deadlines.cancel(second);
    clock.advance(100);
    expect(expired).toEqual(["a at 100", "c at 100"]);
  });

  test("when all were cancelled the timer goes, and the next one sets another", () => {
    const { clock, deadlines, expired, set } = newDeadlines();
    deadlines.cancel(set("a", 100));
    clock.advance(100);
    expect(clock.pending).toBe(0);
    set("b", 100);
    clock.advance(99);
    expect(expired).toEqual([]);
    clock.advance(1);
    expect(expired).toEqual(["b at 200"]);
  });

  test("one set by another that expires has its whole time", () => {
    const { clock, deadlines, expired, set } = newDeadlines();
    deadlines.set(100, () => void set("next", 100));
    clock.advance(199);
    expect(expired).toEqual([]);
    clock.advance(1);
    expect(expired).toEqual(["next at 200"]);
  });
});
