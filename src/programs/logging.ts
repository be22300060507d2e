import { type DestinationStream, destination, type Logger, pino } from "pino";
import type { LOG_FORMATS, LOG_LEVELS } from "../messages/settings.ts";

export interface LoggingOptions {
  readonly logLevel: (typeof LOG_LEVELS)[number];
  readonly logFormat: (typeof LOG_FORMATS)[number];
}

const STDERR = 2;

/**
 * The process's logger, on standard error: standard output is for what a person or script asked for. `auto` is pretty
 * on a terminal and JSON elsewhere.
 */
export async function createLogger({ logLevel, logFormat }: LoggingOptions): Promise<Logger> {
  const pretty = logFormat === "pretty" || (logFormat === "auto" && process.stderr.isTTY);
  return pino({ level: logLevel, base: null }, pretty ? await prettyStream() : jsonStream());
}

/** Lines that cannot be written, as on a full disk, are lost: the program does not end for its log. */
function jsonStream(): DestinationStream {
  const stream = destination({ fd: STDERR, sync: true });
  stream.on("error", () => undefined);
  return stream;
}

// Loaded only where a person looks on: it costs a daemon memory that nobody would see the use of.
async function prettyStream(): Promise<DestinationStream> {
  const { default: pretty } = await import("pino-pretty");
  return pretty({
    destination: STDERR,
    sync: true,
    colorize: process.stderr.isTTY,
    translateTime: "SYS:HH:MM:ss.l",
    ignore: "pid,hostname,actor",
    messageFormat: "{if actor}[{actor}] {end}{msg}",
  });
}
