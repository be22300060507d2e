/**
 * The nodes by number, what breaks ties between them, and the order in which they changed. Whoever changes what a
 * decision reads of a node says so by `touch`, before or after, but within the same message: nothing is read before the
 * next decision, and then only of the nodes that were touched since.
 */
import { type Account, NO_SLOT } from "../ledger/account.ts";
import type { Node } from "../nodes/node.ts";
import { runningOf, startingOf } from "../ranking/least-loaded.ts";

const SMALLEST_CAPACITY = 16;
const STARTING = 0;
const RUNNING = 1;
const PAUSED = 2;
const TURN = 3;
const FIGURES = 4;

export class Slots {
  /** By slot; undefined where a node has been dropped. */
  readonly nodes: (Node | undefined)[] = [];
  readonly #free: number[] = [];
  /** Four figures per slot side by side, so that a comparison touches one cache line of each node. */
  #figures = new Float64Array(SMALLEST_CAPACITY * FIGURES);
  /** The newest changes, by their number modulo its length. */
  #changes = new Int32Array(SMALLEST_CAPACITY);
  /** Number of the newest change of each slot: earlier ones of the same slot need no look. */
  #newestChange = new Float64Array(SMALLEST_CAPACITY);
  #changeCount = 0;
  #upheavals = 0;

  /** Slots there is room for: a power of two. */
  get capacity(): number {
    return this.#changes.length;
  }

  /** Changes so far; the next one has this number. */
  get changeCount(): number {
    return this.#changeCount;
  }

  /** Counts what concerns all nodes at once; after one, numbers of changes seen before mean nothing. */
  get upheavals(): number {
    return this.#upheavals;
  }

  add(node: Node): void {
    const slot = this.#free.pop() ?? this.nodes.length;
    if (slot >= this.capacity) this.#grow();
    this.nodes[slot] = node;
    node.account.slot = slot;
    this.touch(node.account);
  }

  drop({ account }: Node): void {
    if (account.slot === NO_SLOT) return;
    this.touch(account);
    this.nodes[account.slot] = undefined;
    this.#free.push(account.slot);
    account.slot = NO_SLOT;
  }

  /** Something that decisions read of the node of this account changes with the present message. */
  touch({ slot }: Account): void {
    if (slot === NO_SLOT) return;
    const number = this.#changeCount++;
    this.#changes[number & (this.capacity - 1)] = slot;
    this.#newestChange[slot] = number;
  }

  /** As if every node were touched. */
  touchAll(): void {
    this.#upheavals += 1;
  }

  /** The slot that this change, of the newest `capacity`, concerns; `NO_SLOT` where a later one concerns it too. */
  changed(number: number): number {
    const slot = this.#changes[number & (this.capacity - 1)] ?? NO_SLOT;
    return this.#newestChange[slot] === number ? slot : NO_SLOT;
  }

  /** Takes over what `compareTies` reads. Without counts, only turns and ids do. */
  readFigures(slot: number, node: Node, byLoad: boolean): void {
    const at = slot * FIGURES;
    const figures = this.#figures;
    if (byLoad) {
      figures[at + STARTING] = startingOf(node);
      figures[at + RUNNING] = runningOf(node);
      figures[at + PAUSED] = node.figures.paused;
    }
    figures[at + TURN] = node.lastChosenTurn;
  }

  /** Negative when the left node goes first; never 0. Ids are asked for only where neither was ever chosen. */
  compareTies(left: number, right: number): number {
    const figures = this.#figures;
    const leftAt = left * FIGURES;
    const rightAt = right * FIGURES;
    const order =
      (figures[leftAt + STARTING] ?? 0) - (figures[rightAt + STARTING] ?? 0) ||
      (figures[leftAt + RUNNING] ?? 0) - (figures[rightAt + RUNNING] ?? 0) ||
      (figures[leftAt + PAUSED] ?? 0) - (figures[rightAt + PAUSED] ?? 0) ||
      (figures[leftAt + TURN] ?? 0) - (figures[rightAt + TURN] ?? 0);
    if (order !== 0) return order;
    return (this.nodes[left]?.nodeId ?? "") < (this.nodes[right]?.nodeId ?? "") ? -1 : 1;
  }

  #grow(): void {
    const capacity = this.capacity * 2;
    const figures = new Float64Array(capacity * FIGURES);
    figures.set(this.#figures);
    this.#figures = figures;
    this.#changes = new Int32Array(capacity);
    this.#newestChange = new Float64Array(capacity);
    this.#upheavals += 1;
  }
}
