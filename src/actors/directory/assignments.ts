/**
 * Which node a sandbox is on, for look-ups. Pure: the actor around it brings time and keeps the log.
 *
 * An assignment is set by a confirm, a CREATE event, a record of a gateway, or a roster, and lives for `bindingTtlMs`
 * from the last of these. Once a roster has shown it, the first later roster of that node that lacks it drops it; before
 * that it outlives rosters, which may have been built before it was set.
 *
 * What a node's newest roster lists is refreshed by that roster as a whole: a report that lists what the one before
 * listed touches nothing but one time, and one that lists another sandbox touches that one.
 */

import { differenceOf } from "../../messages/rosters.ts";

export interface AssignmentsConfig {
  /** How long an assignment lives without being set again or listed. */
  readonly bindingTtlMs: number;
  /** How long a roster says anything about who holds a sandbox that two nodes list. */
  readonly reportTtlMs: number;
}

export type AssignmentSource = "confirm" | "create" | "record" | "roster";

/** What is journaled: first sightings, records and drops; never refreshes. */
export type AssignmentChange =
  | {
      readonly type: "assigned";
      readonly sandboxId: string;
      readonly nodeId: string;
      /** `roster`: the first roster that shows it here. */
      readonly source: AssignmentSource;
    }
  | { readonly type: "assignment_dropped"; readonly sandboxId: string };

/** What one message did. */
export interface AssignmentsOutcome {
  readonly changes: readonly AssignmentChange[];
  /** Sandboxes newly found on two nodes at a time. */
  readonly duplicates: readonly string[];
}

interface Assignment {
  readonly nodeId: string;
  setAtMs: number;
  /** Whether a roster of the node has shown it. */
  shown: boolean;
}

interface Roster {
  readonly sandboxIds: Set<string>;
  /** As it came, to find what the next one changes; null after a restart, when none has come. */
  readonly asSent: readonly string[] | null;
  readonly atMs: number;
  /** Whether all it lists is assigned here and shown: seeing that once more would change nothing. */
  settled: boolean;
}

// Most rosters change nothing.
const NOTHING: AssignmentsOutcome = { changes: [], duplicates: [] };
const UNCHANGED = { came: [], left: [] } as const;

export interface AssignedSandbox {
  readonly sandboxId: string;
  readonly nodeId: string;
  readonly source: AssignmentSource;
}

export class Assignments {
  readonly #config: AssignmentsConfig;
  readonly #assignments = new Map<string, Assignment>();
  readonly #rosters = new Map<string, Roster>();
  /** Those that no newest roster refreshes, longest set first. */
  readonly #aging = new Map<string, Assignment>();
  /** Nodes that list a sandbox which another one holds. */
  readonly #rivals = new Map<string, Set<string>>();
  #changes: AssignmentChange[] = [];
  #duplicates: string[] = [];

  constructor(config: AssignmentsConfig) {
    this.#config = config;
  }

  get size(): number {
    return this.#assignments.size;
  }

  /** The node of a sandbox; null when unknown or expired. */
  lookup(sandboxId: string, nowMs: number): string | null {
    const assignment = this.#assignments.get(sandboxId);
    return assignment === undefined || this.#isOver(sandboxId, assignment, nowMs) ? null : assignment.nodeId;
  }

  onAssigned({ sandboxId, nodeId, source }: AssignedSandbox, nowMs: number): AssignmentsOutcome {
    const present = this.#assignments.get(sandboxId);
    if (present?.nodeId === nodeId && !this.#isOver(sandboxId, present, nowMs)) {
      present.setAtMs = nowMs;
      if (this.#aging.delete(sandboxId)) this.#aging.set(sandboxId, present);
    } else if (present === undefined || !this.#listsFresh(present.nodeId, sandboxId, nowMs)) {
      // What a roster had shown elsewhere, or long ago, holds no more; the log has to be told.
      if (present?.shown) this.#changes.push({ type: "assignment_dropped", sandboxId });
      this.#change({ type: "assigned", sandboxId, nodeId, source }, nowMs);
    } else if (!present.shown) {
      // Set by a call after the roster that keeps it where it is, which the log does not know yet.
      present.shown = true;
      this.#aging.delete(sandboxId);
      this.#changes.push({ type: "assigned", sandboxId, nodeId: present.nodeId, source: "roster" });
    }
    return this.#outcome();
  }

  /** A roster of the node, with everything on it. */
  onRoster(nodeId: string, asSent: readonly string[], atMs: number): AssignmentsOutcome {
    const before = this.#rosters.get(nodeId);
    // As many as were sent: nothing is listed twice, so a difference tells what left.
    if (before?.asSent != null && before.sandboxIds.size === before.asSent.length) {
      const difference = differenceOf(before.asSent, asSent);
      const { came, left } = difference ?? UNCHANGED;
      for (const sandboxId of left) before.sandboxIds.delete(sandboxId);
      for (const sandboxId of came) before.sandboxIds.add(sandboxId);
      const roster = { sandboxIds: before.sandboxIds, asSent: difference?.sandboxIds ?? before.asSent, atMs };
      this.#takeRoster(nodeId, roster, { seen: before.settled ? came : roster.asSent, left });
    } else {
      const sandboxIds = new Set(asSent);
      const left = [...(before?.sandboxIds ?? [])].filter((sandboxId) => !sandboxIds.has(sandboxId));
      this.#takeRoster(nodeId, { sandboxIds, asSent, atMs }, { seen: sandboxIds, left });
    }
    return this.#outcome();
  }

  #takeRoster(
    nodeId: string,
    roster: Omit<Roster, "settled">,
    { seen, left }: { readonly seen: Iterable<string>; readonly left: readonly string[] },
  ): void {
    this.#rosters.set(nodeId, { ...roster, settled: true });
    for (const sandboxId of seen) this.#sight(nodeId, sandboxId, roster.atMs);
    for (const sandboxId of left) this.#miss(nodeId, sandboxId, roster.atMs);
  }

  /** The sandbox is gone, wherever it was. */
  onDeleted(sandboxId: string): AssignmentsOutcome {
    if (this.#assignments.has(sandboxId)) this.#change({ type: "assignment_dropped", sandboxId }, 0);
    return this.#outcome();
  }

  /** The node has unregistered or is forgotten, and with it what was looked up there. */
  onNodeGone(nodeId: string, nowMs: number): AssignmentsOutcome {
    const listed = this.#rosters.get(nodeId)?.sandboxIds ?? [];
    this.#rosters.delete(nodeId);
    for (const sandboxId of listed) this.#rivals.get(sandboxId)?.delete(nodeId);
    for (const [sandboxId, assignment] of this.#assignments) {
      if (assignment.nodeId === nodeId) this.#drop(sandboxId, nowMs);
    }
    return this.#outcome();
  }

  /** Drops what is over. Look-ups judge by themselves; this bounds what is kept. */
  onTick(nowMs: number): AssignmentsOutcome {
    for (const [sandboxId, assignment] of this.#aging) {
      if (!this.#isOver(sandboxId, assignment, nowMs)) break;
      this.#drop(sandboxId, nowMs);
    }
    for (const [nodeId, roster] of this.#rosters) {
      if (nowMs < roster.atMs + this.#config.bindingTtlMs) continue;
      this.#rosters.delete(nodeId);
      for (const sandboxId of roster.sandboxIds) this.#age(nodeId, sandboxId, nowMs);
    }
    return this.#outcome();
  }

  /**
   * Rebuilds from a log, oldest first. What is in it was refreshed by reports that are not, so each lives a whole
   * `bindingTtlMs` from now, and what a roster had shown is taken for listed until the node's next roster.
   */
  replay(changes: Iterable<AssignmentChange>, nowMs: number): void {
    for (const change of changes) this.#apply(change, nowMs);
    for (const [sandboxId, { nodeId, shown }] of this.#assignments) {
      if (!shown) continue;
      const roster = this.#rosters.get(nodeId) ?? { sandboxIds: new Set(), asSent: null, atMs: nowMs, settled: false };
      roster.sandboxIds.add(sandboxId);
      this.#rosters.set(nodeId, roster);
      this.#aging.delete(sandboxId);
    }
  }

  /** All that is durable, as changes that rebuild it. */
  snapshot(): AssignmentChange[] {
    return [...this.#assignments].map(([sandboxId, { nodeId, shown }]) => ({
      type: "assigned",
      sandboxId,
      nodeId,
      source: shown ? "roster" : "record",
    }));
  }

  #sight(nodeId: string, sandboxId: string, nowMs: number): void {
    const present = this.#assignments.get(sandboxId);
    if (present?.nodeId === nodeId) {
      if (!present.shown) this.#change({ type: "assigned", sandboxId, nodeId, source: "roster" }, nowMs);
      this.#aging.delete(sandboxId);
      return;
    }
    if (present === undefined || !this.#listsFresh(present.nodeId, sandboxId, nowMs)) {
      this.#change({ type: "assigned", sandboxId, nodeId, source: "roster" }, nowMs);
      return;
    }
    this.#unsettle(nodeId, sandboxId);
    let rivals = this.#rivals.get(sandboxId);
    if (rivals === undefined) {
      rivals = new Set();
      this.#rivals.set(sandboxId, rivals);
    }
    if (!rivals.has(nodeId)) this.#duplicates.push(sandboxId);
    rivals.add(nodeId);
  }

  /** The newest roster lacks what the one before it listed. */
  #miss(nodeId: string, sandboxId: string, nowMs: number): void {
    this.#rivals.get(sandboxId)?.delete(nodeId);
    if (this.#assignments.get(sandboxId)?.nodeId === nodeId) this.#drop(sandboxId, nowMs);
  }

  /** Its roster refreshes it no more; it may have been set since. */
  #age(nodeId: string, sandboxId: string, nowMs: number): void {
    this.#rivals.get(sandboxId)?.delete(nodeId);
    const assignment = this.#assignments.get(sandboxId);
    if (assignment?.nodeId !== nodeId) return;
    if (this.#isOver(sandboxId, assignment, nowMs)) this.#drop(sandboxId, nowMs);
    else this.#aging.set(sandboxId, assignment);
  }

  /** Where two nodes listed it, it goes to one whose fresh roster still does. */
  #drop(sandboxId: string, nowMs: number): void {
    const heir = [...(this.#rivals.get(sandboxId) ?? [])].find((nodeId) => this.#listsFresh(nodeId, sandboxId, nowMs));
    this.#change({ type: "assignment_dropped", sandboxId }, nowMs);
    if (heir !== undefined) this.#change({ type: "assigned", sandboxId, nodeId: heir, source: "roster" }, nowMs);
  }

  #change(change: AssignmentChange, nowMs: number): void {
    this.#changes.push(change);
    this.#apply(change, nowMs);
  }

  #apply(change: AssignmentChange, nowMs: number): void {
    const { sandboxId } = change;
    this.#aging.delete(sandboxId);
    const holder = this.#assignments.get(sandboxId)?.nodeId;
    if (change.type === "assignment_dropped") {
      if (holder !== undefined) this.#unsettle(holder, sandboxId);
      this.#assignments.delete(sandboxId);
      this.#rivals.delete(sandboxId);
      return;
    }
    const { nodeId, source } = change;
    if (holder !== undefined && holder !== nodeId) this.#unsettle(holder, sandboxId);
    const assignment: Assignment = { nodeId, setAtMs: nowMs, shown: source === "roster" };
    this.#assignments.set(sandboxId, assignment);
    this.#rivals.get(sandboxId)?.delete(nodeId);
    if (assignment.shown) return;
    this.#aging.set(sandboxId, assignment);
    this.#unsettle(nodeId, sandboxId);
  }

  /** Where the node lists the sandbox, its next roster says something that this one did not, even if it is the same. */
  #unsettle(nodeId: string, sandboxId: string): void {
    const roster = this.#rosters.get(nodeId);
    if (roster?.sandboxIds.has(sandboxId)) roster.settled = false;
  }

  #isOver(sandboxId: string, { nodeId, setAtMs }: Assignment, nowMs: number): boolean {
    const roster = this.#rosters.get(nodeId);
    const listedAtMs = roster?.sandboxIds.has(sandboxId) ? roster.atMs : setAtMs;
    return nowMs >= Math.max(setAtMs, listedAtMs) + this.#config.bindingTtlMs;
  }

  /** A node whose fresh roster lists a sandbox holds it: no other takes it over. */
  #listsFresh(nodeId: string, sandboxId: string, nowMs: number): boolean {
    const roster = this.#rosters.get(nodeId);
    return roster?.sandboxIds.has(sandboxId) === true && nowMs - roster.atMs <= this.#config.reportTtlMs;
  }

  #outcome(): AssignmentsOutcome {
    if (this.#changes.length === 0 && this.#duplicates.length === 0) return NOTHING;
    const outcome = { changes: this.#changes, duplicates: this.#duplicates };
    this.#changes = [];
    this.#duplicates = [];
    return outcome;
  }
}
