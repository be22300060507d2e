import type { EventLog, LogEntry } from "../../../src/actors/placement/event-log.ts";

export interface OpenAppend {
  readonly entries: readonly LogEntry[];
  /** `kept`: whether the events are durable, whatever the actor is told. */
  end(failure: string | null, kept?: boolean): void;
}

/** A log whose appends end when the test says so, and that gives back what it kept. */
export class ScriptedLog implements EventLog {
  readonly kept: LogEntry[] = [];
  readonly open: OpenAppend[] = [];
  /** What ends an append at once; null leaves it open. */
  onAppend: ((append: OpenAppend, count: number) => void) | null = null;
  /** Why it cannot be read; null: it can. */
  unreadable: string | null = null;
  appends = 0;

  append(entries: readonly LogEntry[], done: (failure: string | null) => void): void {
    this.appends += 1;
    const append: OpenAppend = {
      entries,
      end: (failure, kept = failure === null) => {
        if (kept) this.kept.push(...entries);
        this.open.splice(this.open.indexOf(append), 1);
        done(failure);
      },
    };
    this.open.push(append);
    this.onAppend?.(append, this.appends);
  }

  note(entries: readonly LogEntry[]): void {
    this.kept.push(...entries);
  }

  readonly read: NonNullable<EventLog["read"]> = (done) => {
    if (this.unreadable !== null) done({ ok: false, reason: this.unreadable });
    else done({ ok: true, entries: [...this.kept] });
  };
}

/** A log that commits at once. */
export function promptLog(): ScriptedLog {
  const log = new ScriptedLog();
  log.onAppend = (append) => append.end(null);
  return log;
}
