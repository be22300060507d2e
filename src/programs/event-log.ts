import { type Journal, spawnJournal } from "../actors/journal/client.ts";
import type { Log } from "../actors/kernel/actor.ts";
import { moduleUrl } from "../actors/kernel/module-url.ts";
import type { ActorSystem } from "../actors/kernel/system.ts";
import { type EventLog, type LogEntry, memoryLog } from "../actors/placement/event-log.ts";
import { systemClock } from "../ports/clock.ts";
import { NO_STATE_DIR } from "./scheduler-settings.ts";

export type OpenedLog = { readonly eventLog: EventLog } | { readonly refusal: string };

/** The log that the scheduler keeps its decisions in, checked and locked; or why it cannot be had, in one line. */
export async function openEventLog(system: ActorSystem, stateDir: string, log: Log): Promise<OpenedLog> {
  if (stateDir === NO_STATE_DIR) {
    log.warn({ stateDir }, "reservations are kept in memory only: a restart forgets what is in flight");
    return { eventLog: memoryLog };
  }
  const snapshotModule = moduleUrl(import.meta.url, "../actors/placement/journal-snapshot");
  const journal = spawnJournal(system, { directory: stateDir, snapshotModule, log, clock: systemClock });
  const refusal = await journal.open();
  if (refusal !== null) return { refusal: refusal.message };
  log.info({ stateDir }, `reservations are kept in ${stateDir}`);
  return { eventLog: eventLogOf(journal) };
}

/** Texts on one side, entries on the other: what was written is what is read. */
function eventLogOf(journal: Journal): EventLog {
  return {
    append: (entries, done) => journal.append(entries, done),
    note: (entries) => journal.note(entries),
    read: (done) =>
      journal.read((content) =>
        done(content.ok ? { ok: true, entries: content.entries as Iterable<LogEntry> } : content),
      ),
  };
}
