import type { EventEmitter } from "eventemitter3";
import type { Actor, ActorContext, Answer, LocalActor } from "../kernel/actor.ts";
import type { RouteChange } from "../placement/client.ts";
import { type AssignmentChange, Assignments, type AssignmentsConfig, type AssignmentsOutcome } from "./assignments.ts";
import type { DirectoryEvents, DirectoryMessage, LookupAnswer } from "./client.ts";
import { unsaidChanges } from "./fold-assignments.ts";

export interface DirectoryOptions {
  readonly config: AssignmentsConfig;
  readonly events: EventEmitter<DirectoryEvents>;
  /** Logs what rosters and time changed; null keeps it in memory only. What calls said is in the log already. */
  readonly journal: ((changes: readonly AssignmentChange[]) => void) | null;
}

/** Look-ups judge by themselves what is over; this only bounds how much of it is kept. */
const SWEEP_MS = 1_000;

/** Owns what no placement decision reads: which node a sandbox is on. It hears of it from the placement actor. */
export function directoryActor({ config, events, journal }: DirectoryOptions): LocalActor<DirectoryMessage> {
  return {
    create({ clock, log }: ActorContext): Actor<DirectoryMessage> {
      const assignments = new Assignments(config);
      const note = ({ duplicates }: AssignmentsOutcome): void => {
        for (const sandboxId of duplicates) {
          log.warn({ sandboxId }, `two nodes list sandbox ${sandboxId}: it is charged on both`);
          events.emit("duplicate", { sandboxId });
        }
      };
      const onRoute = (change: RouteChange): void => {
        const outcome = follow(assignments, change, clock.monotonicMs());
        note(outcome);
        keep(unsaidChanges(change, outcome.changes));
      };
      const keep = (changes: readonly AssignmentChange[]): void => {
        if (changes.length > 0) journal?.(changes);
      };
      const sweep = (): void => {
        const outcome = assignments.onTick(clock.monotonicMs());
        note(outcome);
        keep(outcome.changes);
        timer = clock.after(SWEEP_MS, sweep);
      };
      let timer = clock.after(SWEEP_MS, sweep);

      const onLookup = (sandboxId: string): LookupAnswer => ({
        nodeId: assignments.lookup(sandboxId, clock.monotonicMs()),
      });
      return {
        receive(message: DirectoryMessage, answer: Answer) {
          switch (message.type) {
            case "routes":
              for (const change of message.changes) onRoute(change);
              return;
            case "restore":
              assignments.replay(message.changes, clock.monotonicMs());
              return;
            case "lookup":
              answer(onLookup(message.sandboxId));
              return;
            default:
              message satisfies never;
          }
        },
        stopped: () => timer.cancel(),
      };
    },
  };
}

function follow(assignments: Assignments, change: RouteChange, nowMs: number): AssignmentsOutcome {
  switch (change.type) {
    case "assigned":
      return assignments.onAssigned(change, nowMs);
    case "roster":
      return assignments.onRoster(change.nodeId, change.sandboxIds, nowMs);
    case "deleted":
      return assignments.onDeleted(change.sandboxId);
    case "node_gone":
      return assignments.onNodeGone(change.nodeId, nowMs);
    default:
      return change satisfies never;
  }
}
