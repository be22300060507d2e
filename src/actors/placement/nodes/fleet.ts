/** Every node that is known, and how durable changes move one. Like the ledger it decides nothing. */
import type { PlacementConfig, StaticNode } from "../config.ts";
import type { NodeChange, NodeRecord } from "../events.ts";
import type { Slots } from "../index/slots.ts";
import type { Instant } from "../instant.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { ChangeTime } from "../ledger/record.ts";
import { type Node, newNode } from "./node.ts";

/** Reports stray for seconds or minutes; a machine does not boot more often in that time. */
const FORMER_BOOTS_MAX = 8;

export interface FleetParts {
  readonly config: PlacementConfig;
  readonly ledger: Ledger;
  /** Hears of every change of a node. */
  readonly slots: Slots;
  readonly now: Instant;
}

export class Fleet {
  readonly nodes = new Map<string, Node>();
  readonly #ledger: Ledger;
  readonly #config: PlacementConfig;
  readonly #slots: Slots;
  readonly #configured: ReadonlyMap<string, StaticNode>;

  constructor({ config, ledger, slots, now }: FleetParts) {
    this.#config = config;
    this.#ledger = ledger;
    this.#slots = slots;
    this.#configured = new Map((config.nodes ?? []).map((node) => [node.nodeId, node]));
    for (const nodeId of this.#configured.keys()) this.#make(nodeId, now);
  }

  /** Whether heartbeats of this node are taken: any, where the configuration names none. */
  admits(nodeId: string): boolean {
    return this.#config.nodes === null || this.nodes.get(nodeId)?.configured != null;
  }

  apply(change: NodeChange, at: ChangeTime): void {
    if (change.type === "node_registered") return this.#register(change.nodeId, change.endpoint, at);
    if (change.type === "node_restored") return this.#restore(change.record, at);
    const node = this.nodes.get(change.nodeId);
    if (node === undefined) throw new Error(`${change.type}: no node ${change.nodeId}`);
    if (change.type === "node_dropped") {
      this.nodes.delete(change.nodeId);
      this.#ledger.accounts.delete(change.nodeId);
      this.#slots.drop(node);
      return;
    }
    this.#slots.touch(node.account);
    applyTo(node, change, at);
  }

  /**
   * Every node that any event named, as after a restart: to be heard before it is a candidate. Its reports are in no log,
   * so how long it has been silent is not known: that counts from now, or a node that reported a second before the
   * restart would be taken for one that nobody has heard since it registered.
   */
  awaitAll(nowMs: number): void {
    for (const node of this.nodes.values()) {
      node.awaited = node.journaled && node.unregistered === null;
      node.knownSinceMs = nowMs;
    }
    this.#slots.touchAll();
  }

  #make(nodeId: string, now: Instant): Node {
    const configured = this.#configured.get(nodeId) ?? null;
    const node = newNode({ nodeId, configured, account: this.#ledger.accountOf(nodeId), now });
    this.nodes.set(nodeId, node);
    this.#slots.add(node);
    return node;
  }

  #register(nodeId: string, endpoint: string | null, at: ChangeTime): void {
    const node = this.nodes.get(nodeId) ?? this.#make(nodeId, at);
    this.#slots.touch(node.account);
    node.journaled = true;
    node.unregistered = null;
    // The configuration has the last word on the nodes that it names, also where it names no endpoint.
    if (node.configured === null) node.endpoint = endpoint ?? node.endpoint;
  }

  #restore(record: NodeRecord, at: ChangeTime): void {
    this.#register(record.nodeId, record.endpoint, at);
    const node = this.nodes.get(record.nodeId);
    if (node === undefined) return;
    const monotonic = (wallMs: number): number => at.nowMs + wallMs - at.wallMs;
    // A snapshot is made without the configuration, which says it of nodes that have not said it themselves.
    node.ledger = record.ledger || (!record.runtimeSeen && (node.configured?.ledger ?? false));
    node.runtimeSeen = record.runtimeSeen;
    node.bootId = record.bootId;
    node.formerBootIds = record.formerBootIds;
    node.witnessPosition = record.witnessPosition;
    node.cordon = record.cordon;
    if (record.unregistered !== null) {
      const { serviceInstanceId, atWallMs } = record.unregistered;
      node.unregistered = { serviceInstanceId, atMs: monotonic(atWallMs) };
    }
    for (const { condition, sinceWallMs } of record.conditions) {
      node.conditions.set(condition, { sinceMs: monotonic(sinceWallMs) });
    }
  }
}

function applyTo(
  node: Node,
  change: Exclude<NodeChange, { type: "node_registered" | "node_restored" | "node_dropped" }>,
  at: ChangeTime,
): void {
  node.journaled = true;
  switch (change.type) {
    case "node_endpoint_set":
      node.endpoint = change.endpoint;
      return;
    case "node_ledger_set":
      node.ledger = change.ledger;
      return;
    case "node_runtime_seen":
      node.runtimeSeen = true;
      node.ledger = false;
      return;
    case "boot_witnessed":
      if (node.bootId !== null && node.bootId !== change.bootId) {
        node.formerBootIds = [...node.formerBootIds, node.bootId].slice(-FORMER_BOOTS_MAX);
      }
      node.bootId = change.bootId;
      node.witnessPosition = at.position;
      return;
    case "node_unregistered":
      node.unregistered = { serviceInstanceId: change.serviceInstanceId, atMs: at.nowMs };
      return;
    case "cordoned":
      node.cordon = { reason: change.reason };
      return;
    case "uncordoned":
      node.cordon = null;
      return;
    case "condition_entered":
      node.conditions.set(change.condition, { sinceMs: at.nowMs });
      return;
    case "condition_left":
      node.conditions.delete(change.condition);
      return;
    default:
      change satisfies never;
  }
}

/** The durable part of a node, for a snapshot of the log. */
export function nodeRecordOf(node: Node, now: Instant): NodeRecord {
  const wall = (atMs: number): number => now.wallMs + atMs - now.nowMs;
  return {
    nodeId: node.nodeId,
    endpoint: node.endpoint,
    ledger: node.ledger,
    runtimeSeen: node.runtimeSeen,
    bootId: node.bootId,
    formerBootIds: node.formerBootIds,
    witnessPosition: node.witnessPosition,
    unregistered:
      node.unregistered === null
        ? null
        : { serviceInstanceId: node.unregistered.serviceInstanceId, atWallMs: wall(node.unregistered.atMs) },
    cordon: node.cordon,
    conditions: [...node.conditions].map(([condition, { sinceMs }]) => ({ condition, sinceWallMs: wall(sinceMs) })),
  };
}
