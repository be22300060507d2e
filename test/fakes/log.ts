import type { Log, LogLevel } from "../../src/actors/kernel/actor.ts";

export interface LogLine {
  readonly level: LogLevel;
  readonly fields: object;
  readonly text: string;
}

/** A log that keeps its lines. */
export function recordingLog(lines: LogLine[] = []): Log & { readonly lines: LogLine[] } {
  const at =
    (level: LogLevel) =>
    (fields: object, text: string): void =>
      void lines.push({ level, fields, text });
  return { lines, debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
