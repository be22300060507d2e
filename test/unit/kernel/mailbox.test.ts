import { describe, expect, test } from "vitest";
import { type Envelope, Mailbox } from "../../../src/actors/kernel/mailbox.ts";

const envelope = (type: string): Envelope => ({ message: { type }, answer: null, fail: null });
const types = (mailbox: Mailbox): string[] => mailbox.clear().map(({ message }) => message.type);

describe("a mailbox", () => {
  test("keeps the order of arrival over many refills", () => {
    const mailbox = new Mailbox(1000);
    const taken: string[] = [];
    for (let round = 0; round < 300; round++) {
      mailbox.push(envelope(`${3 * round}`), "normal");
      mailbox.push(envelope(`${3 * round + 1}`), "normal");
      mailbox.push(envelope(`${3 * round + 2}`), "normal");
      for (let take = 0; take < 2; take++) taken.push(mailbox.shift()?.message.type ?? "none");
    }
    expect(mailbox.length).toBe(300);
    expect([...taken, ...types(mailbox)]).toEqual(Array.from({ length: 900 }, (_, position) => `${position}`));
  });

  test("hands out urgent messages first", () => {
    const mailbox = new Mailbox(10);
    mailbox.push(envelope("a"), "normal");
    mailbox.push(envelope("b"), "normal");
    mailbox.push(envelope("stop"), "urgent");
    expect(types(mailbox)).toEqual(["stop", "a", "b"]);
  });

  test("refuses when the lane is full and takes again after one left", () => {
    const mailbox = new Mailbox(2);
    expect([1, 2, 3].map((n) => mailbox.push(envelope(`${n}`), "normal"))).toEqual([true, true, false]);
    expect(mailbox.length).toBe(2);
    mailbox.shift();
    expect(mailbox.push(envelope("4"), "normal")).toBe(true);
    expect(types(mailbox)).toEqual(["2", "4"]);
  });

  test("has room for urgent messages when the normal lane is full", () => {
    const mailbox = new Mailbox(1);
    mailbox.push(envelope("a"), "normal");
    expect(mailbox.push(envelope("b"), "urgent")).toBe(true);
    expect(mailbox.push(envelope("c"), "urgent")).toBe(false);
  });

  test("counts what was taken but not handled", () => {
    const mailbox = new Mailbox(3);
    expect(mailbox.push(envelope("a"), "normal", 3)).toBe(false);
    expect(mailbox.push(envelope("a"), "normal", 2)).toBe(true);
  });

  test.each([0, -1, 1.5, Number.NaN])("cannot have a capacity of %s", (capacity) => {
    expect(() => new Mailbox(capacity)).toThrow(RangeError);
  });
});
