/** What a caller that means harm, or is broken, sends: drawn from one seed, so that a run can be repeated. */
import { type Random, seededRandom } from "../../../src/ports/random.ts";

export class Drawer {
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  below(bound: number): number {
    return Math.floor(this.#random.fraction() * bound);
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  }

  bytes(count: number): Buffer {
    return Buffer.from(this.#random.bytes(count));
  }
}

/** JSON values of which none is right where a name, an amount, a list, an object, or yes or no is due. */
export const WRONG_FOR = {
  name: ["7", "true", "null", "[]", "{}", '""', '"\\u0000"', '"a b"', '"\\ud800"', `"${"x".repeat(257)}"`, '"ü"'],
  count: [
    "-1",
    "1.5",
    "1e300",
    "1e999",
    "-1e999",
    "9007199254740992",
    '"7"',
    "true",
    "null",
    "[1]",
    "{}",
    "18446744073709551616",
  ],
  ratio: ["-0.1", "1.01", "1e999", '"0.5"', "true", "[]", "{}"],
  text: ["7", "true", "null", "[]", "{}", `"${"x".repeat(5_000)}"`],
  list: ["7", '"x"', "null", "true", "{}", "[null]", "[[]]", "[7]", '["a b"]', '[""]'],
  object: ["7", '"x"', "null", "true", "[]"],
  flag: ["7", '"true"', "null", "[]", "0"],
} as const;

export type FieldKind = keyof typeof WRONG_FOR;

/** A text that is no JSON document, or none that any call takes, whatever the fields are called. */
export function brokenJson(drawer: Drawer, good: string): string {
  const cut = good.slice(0, 1 + drawer.below(Math.max(1, good.length - 1)));
  const deep = 2_000 + drawer.below(20_000);
  return drawer.pick([
    cut,
    `${good}${drawer.pick(["x", ",", "{}", "]", "\u0000", "//"])}`,
    "[".repeat(deep),
    `${"[".repeat(deep)}${"]".repeat(deep)}`,
    `{"x":${'{"x":'.repeat(deep / 8)}1${"}".repeat(deep / 8)}}`,
    '{"__proto__":{"x":1}}',
    '{"x":{"__proto__":null}}',
    '{"\\u005f\\u005fproto__":{"x":1}}',
    '{"constructor":{"prototype":{"x":1}}}',
    '{"x":1,"x":1}',
    '{"x":{"y":[{"z":1,"z":2}]}}',
    '{"x":1,"\\u0078":1}',
    "{'x':1}",
    '{"x":01}',
    '{"x":NaN}',
    '{"x":+1}',
    '{"x":0x1}',
    '{"x":"\t"}',
    '{"x":undefined}',
    "nul",
    "[]",
    "7",
    '"text"',
    "null",
    "true",
  ]);
}
