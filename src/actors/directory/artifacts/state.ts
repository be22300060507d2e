/**
 * Which nodes hold which P2P artifact. Pure: an index of a bounded number of keys, the least recently used of which goes
 * first; recording one and looking it up both use it.
 */
import type { ArtifactKey } from "./client.ts";

export interface ArtifactsConfig {
  /** Keys that are kept. */
  readonly storeCapacity: number;
}

/** A look-up returns a few; more than this many to choose from make none of them better. */
const HOLDERS_MAX = 1_000;

export class Artifacts {
  readonly #config: ArtifactsConfig;
  /** Least recently used first; the holders longest recorded first. */
  readonly #holders = new Map<string, Set<string>>();
  readonly #keysOf = new Map<string, Set<string>>();

  constructor(config: ArtifactsConfig) {
    this.#config = config;
  }

  /** Keys that are kept now. */
  get size(): number {
    return this.#holders.size;
  }

  record(artifact: ArtifactKey, nodeId: string): void {
    const name = nameOf(artifact);
    const holders = this.#holders.get(name) ?? new Set();
    this.#touch(name, holders);
    holders.delete(nodeId);
    holders.add(nodeId);
    this.#keysFor(nodeId).add(name);
    if (holders.size > HOLDERS_MAX) {
      const [longest] = holders;
      if (longest !== undefined) this.#remove(name, longest);
    }
    if (this.#holders.size > this.#config.storeCapacity) this.#evict();
  }

  forget(artifact: ArtifactKey, nodeId: string): void {
    this.#remove(nameOf(artifact), nodeId);
  }

  /** The nodes said to hold it, most recently recorded first. */
  lookup(artifact: ArtifactKey): string[] {
    const name = nameOf(artifact);
    const holders = this.#holders.get(name);
    if (holders === undefined) return [];
    this.#touch(name, holders);
    return [...holders].reverse();
  }

  onNodeGone(nodeId: string): void {
    for (const name of this.#keysOf.get(nodeId) ?? []) this.#remove(name, nodeId);
  }

  #touch(name: string, holders: Set<string>): void {
    this.#holders.delete(name);
    this.#holders.set(name, holders);
  }

  #evict(): void {
    const [oldest] = this.#holders;
    if (oldest === undefined) return;
    const [name, holders] = oldest;
    for (const nodeId of holders) this.#remove(name, nodeId);
  }

  #remove(name: string, nodeId: string): void {
    const holders = this.#holders.get(name);
    if (holders?.delete(nodeId) !== true) return;
    if (holders.size === 0) this.#holders.delete(name);
    const keys = this.#keysOf.get(nodeId);
    keys?.delete(name);
    if (keys?.size === 0) this.#keysOf.delete(nodeId);
  }

  #keysFor(nodeId: string): Set<string> {
    const known = this.#keysOf.get(nodeId);
    if (known !== undefined) return known;
    const keys = new Set<string>();
    this.#keysOf.set(nodeId, keys);
    return keys;
  }
}

/** One text for the three, the lengths before it: no two artifacts share one. */
function nameOf({ clusterId, backend, key }: ArtifactKey): string {
  return `${clusterId.length}:${backend.length}:${clusterId}${backend}${key}`;
}
