/**
 * Things that are under way, by numbers that are given anew when their things are back; as many as were ever under way at
 * a time. A `Map` does the same, and is rebuilt whenever as many have passed through it as it has room for: what it leaves
 * behind then lies in the old generation of the heap, holds all that was in it at that moment, and so keeps half of all
 * requests from being collected young.
 */
export class UnderWay<T extends object> {
  readonly #things: (T | null)[] = [];
  readonly #free: number[] = [];

  add(thing: T): number {
    const number = this.#free.pop() ?? this.#things.length;
    this.#things[number] = thing;
    return number;
  }

  /** The thing of that number, which is back then; null when there is none. */
  take(number: number): T | null {
    const thing = this.#things[number] ?? null;
    if (thing === null) return null;
    this.#things[number] = null;
    this.#free.push(number);
    return thing;
  }

  /** Takes all of them. */
  takeAll(): T[] {
    return this.#things.flatMap((_, number) => this.take(number) ?? []);
  }

  /** Those that are under way when it is their turn. */
  *[Symbol.iterator](): Iterator<T> {
    for (const thing of this.#things) if (thing !== null) yield thing;
  }
}
