import { spawnSync } from "node:child_process";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { KernelTree } from "../unit/sampler/kernel-tree.ts";

/** A tree that a running daemon reads while the test changes it: no reader ever meets half a file. */
export class LivingTree extends KernelTree {
  /** Large enough that no field of the fixture's own counters is ahead. */
  #rounds = 10_000_000;

  override write(file: string, text: string | Uint8Array): void {
    const path = this.at(file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(`${path}.next`, text);
    renameSync(`${path}.next`, path);
  }

  /**
   * Lets host time pass, 45 % of it busy: whichever of these states two samples meet, the busy fraction between them
   * is exactly 0.45.
   */
  passTime(): void {
    this.#rounds += 100;
    this.write("proc/stat", `cpu  ${45 * this.#rounds} 0 0 ${55 * this.#rounds} 0 0 0 0 0 0\n`);
  }

  /** Puts a FIFO in place of a file: nobody writes to it, so a plain open of it would never return. */
  putFifo(file: string): void {
    const path = this.at(file);
    const made = spawnSync("mkfifo", [`${path}.next`]);
    if (made.status !== 0) throw new Error(`mkfifo: ${made.stderr}`);
    // Only where a directory stands in the way can this fail, and then the test is wrong.
    renameSync(`${path}.next`, path);
  }
}
