import { request } from "node:http";
import { z } from "zod";
import { METRICS } from "../messages/sampling.ts";
import { systemClock } from "../ports/clock.ts";
import { pause } from "../ports/pause.ts";
import { formatBytes, formatRatio } from "./figures.ts";

/** A daemon answers from memory; one that takes longer is stopped or gone. */
const ANSWER_DEADLINE_MS = 5_000;
const ANSWER_BYTES_MAX = 1024 * 1024;
const BAR_WIDTH = 24;
const CLEAR_SCREEN = "\u001b[H\u001b[2J";

export interface ShowResourceOptions {
  readonly socket: string;
  /** Print the daemon's bytes as they are. */
  readonly json: boolean;
  /** Show it again after this many milliseconds; null shows it once. */
  readonly watchMs: number | null;
}

const ratio = z.number().min(0).max(1).nullable();
const answerSchema = z.object({
  cpu: z.number(),
  mem: z.number(),
  storage: z.number().optional(),
  utilization: z.object({ cpu: ratio, memory: ratio, pid: ratio, fd: ratio, disk: ratio }),
});
type Answer = z.infer<typeof answerSchema>;

/** Prints a daemon's `/resource` for a person. Returns the exit code: 1 when no daemon answers. */
export async function showResource({ socket, json, watchMs }: ShowResourceOptions): Promise<number> {
  for (;;) {
    const fetched = await fetchResource(socket).then(
      (text) => ({ text }),
      (thrown: Error) => ({ problem: `${socket}: ${thrown.message}` }),
    );
    if ("problem" in fetched) {
      process.stderr.write(`evenkeel: ${fetched.problem}\n`);
      return 1;
    }
    const shown = json ? `${fetched.text}\n` : render(fetched.text);
    if (shown === null) {
      process.stderr.write(`evenkeel: ${socket}: what answers there is not a node daemon\n`);
      return 1;
    }
    process.stdout.write(watchMs !== null && !json && process.stdout.isTTY ? CLEAR_SCREEN + shown : shown);
    if (watchMs === null) return 0;
    await pause(systemClock, watchMs);
  }
}

/** The page for a person; null when the answer is not one of `/resource`. */
export function render(text: string): string | null {
  const parsed = answerSchema.safeParse(parse(text));
  if (!parsed.success) return null;
  const { utilization } = parsed.data;
  const lines = METRICS.map((metric) => `${metric.padEnd(8)}  ${bar(utilization[metric])}`);
  return `capacity  ${capacity(parsed.data)}\n${lines.join("\n")}\n`;
}

function capacity({ cpu, mem, storage }: Answer): string {
  const parts = [`${cpu} ${cpu === 1 ? "CPU" : "CPUs"}`, `${formatBytes(mem)} memory`];
  if (storage !== undefined) parts.push(`${formatBytes(storage)} storage`);
  return parts.join(", ");
}

function bar(value: number | null): string {
  if (value === null) return `${"·".repeat(BAR_WIDTH)}  unknown`;
  // Something in use shows as something, and only a full one shows as full.
  const filled = value === 0 ? 0 : Math.min(Math.max(1, Math.floor(value * BAR_WIDTH)), BAR_WIDTH);
  return `${"█".repeat(filled)}${"░".repeat(BAR_WIDTH - filled)}  ${formatRatio(value).padStart(7)}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function fetchResource(socketPath: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asking = request({ socketPath, path: "/resource", agent: false, timeout: ANSWER_DEADLINE_MS }, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > ANSWER_BYTES_MAX) asking.destroy(new Error("what answers there is not a node daemon"));
        chunks.push(chunk);
      });
      response.on("error", reject);
      response.on("end", () => {
        if (response.statusCode !== 200)
          reject(new Error(`the daemon answered with HTTP status ${response.statusCode}`));
        else resolve(Buffer.concat(chunks).toString("utf8"));
      });
    });
    asking.on("timeout", () => asking.destroy(new Error("the daemon did not answer")));
    asking.on("error", (error: NodeJS.ErrnoException) => reject(new Error(explain(error))));
    asking.end();
  });
}

function explain({ code, message }: NodeJS.ErrnoException): string {
  switch (code) {
    case "ENOENT":
      return 'no daemon has made this socket; start one with "npx evenkeel daemon", or name its socket with --socket';
    case "ECONNREFUSED":
      return 'nobody listens on this socket any more; start a daemon with "npx evenkeel daemon"';
    case "EACCES":
      return "permission denied; the socket is open to the daemon's user and group";
    case "ENOTSOCK":
      return "this is not a socket";
    default:
      return message;
  }
}
