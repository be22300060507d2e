import type { SnapshotRow } from "../actors/journal/reader.ts";
import type { JournalContent } from "../actors/placement/journal-content.ts";
import { RESERVATION_STATES } from "../messages/placement.ts";
import { formatBytes } from "./figures.ts";
import { renderTable } from "./table.ts";

export interface CheckedJournal {
  readonly path: string;
  readonly bytes: number;
  readonly walBytes: number;
  readonly schemaVersion: number;
  readonly snapshot: SnapshotRow;
  readonly tailEntries: number;
  readonly newestSeq: number;
  /** Of what comes before the damage, if any; null where that makes no sense. */
  readonly content: JournalContent | null;
  /** The first, in one line; null when every row is whole. */
  readonly damage: string | null;
}

export function renderCheck(checked: CheckedJournal): string {
  const { path, bytes, walBytes, schemaVersion, snapshot, tailEntries, newestSeq, content, damage } = checked;
  const size = [
    ["file", formatBytes(bytes)],
    ["write-ahead log", formatBytes(walBytes)],
    ["schema", String(schemaVersion)],
    ["entries in the snapshot", String(snapshot.entries)],
    ["entries behind it", String(tailEntries)],
    ["batches ever", String(newestSeq)],
    ["newest event", newestOf(content)],
  ];
  const verdict = damage === null ? "Every row is whole.\n" : "Damaged; this is what comes before the damage.\n";
  const lives = content === null ? "" : `\n${renderTable(["LIVES", "COUNT"], livesIn(content))}`;
  return `${path}\n\n${renderTable(["SIZE", "VALUE"], size)}${lives}\n${verdict}`;
}

function newestOf(content: JournalContent | null): string {
  const wallMs = content?.newestWallMs ?? null;
  return wallMs === null ? "-" : new Date(wallMs).toISOString();
}

function livesIn(content: JournalContent): string[][] {
  return [
    ...RESERVATION_STATES.map((state) => [`reservations, ${state}`, String(content.reservations[state])]),
    ["nodes", String(content.nodes)],
    ["nodes, unregistered", String(content.unregistered)],
    ["nodes, cordoned", String(content.cordoned)],
    ["nodes, under pressure", String(content.underPressure)],
    ["assignments", String(content.assignments)],
    ["sandbox ids named by events", String(content.namedSandboxes)],
  ];
}

export function renderCheckJson({ path, content, damage, snapshot, ...rest }: CheckedJournal): string {
  const answer = {
    path,
    whole: damage === null,
    damage,
    file_bytes: rest.bytes,
    wal_bytes: rest.walBytes,
    schema: rest.schemaVersion,
    snapshot_entries: snapshot.entries,
    tail_entries: rest.tailEntries,
    batches: rest.newestSeq,
    newest_event: content?.newestWallMs == null ? null : new Date(content.newestWallMs).toISOString(),
    lives:
      content === null
        ? null
        : {
            reservations: content.reservations,
            nodes: content.nodes,
            unregistered_nodes: content.unregistered,
            cordoned_nodes: content.cordoned,
            nodes_under_pressure: content.underPressure,
            assignments: content.assignments,
            named_sandboxes: content.namedSandboxes,
          },
  };
  return `${JSON.stringify(answer, null, 2)}\n`;
}
