/** What is kept of every node beside the nodes themselves, and brought up to date when it is asked. */
import type { Rules } from "../candidates.ts";
import { NO_SLOT } from "../ledger/account.ts";
import type { Slots } from "./slots.ts";

/** Beyond this part of the nodes, beginning anew is cheaper than taking in each change. */
const CHANGED_SHARE_MAX = 1 / 3;

export abstract class Follower {
  protected readonly slots: Slots;
  #changesSeen = 0;
  #upheavalsSeen = -1;

  constructor(slots: Slots) {
    this.slots = slots;
  }

  protected abstract beginAnew(rules: Rules): void;
  protected abstract takeIn(slot: number, rules: Rules): void;

  /** All is to begin anew when it is asked next. */
  protected forget(): void {
    this.#upheavalsSeen = -1;
  }

  /** To be called before anything that is kept is read. */
  protected catchUp(rules: Rules): void {
    const { slots } = this;
    const changes = slots.changeCount - this.#changesSeen;
    if (this.#upheavalsSeen !== slots.upheavals || changes > slots.capacity * CHANGED_SHARE_MAX) {
      this.beginAnew(rules);
    } else {
      for (let number = this.#changesSeen; number < slots.changeCount; number++) {
        const slot = slots.changed(number);
        if (slot !== NO_SLOT) this.takeIn(slot, rules);
      }
    }
    this.#changesSeen = slots.changeCount;
    this.#upheavalsSeen = slots.upheavals;
  }
}
