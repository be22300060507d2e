import type { Server } from "node:http";
import type { HttpServer } from "../../../src/actors/api/http-server.ts";
import { ActorSystem } from "../../../src/actors/kernel/system.ts";
import { type EventLog, memoryLog } from "../../../src/actors/placement/event-log.ts";
import type { WireNode } from "../../../src/messages/http/node.ts";
import type { Problem } from "../../../src/messages/http/problem.ts";
import type { WireReservation } from "../../../src/messages/http/reservation.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import { systemClock } from "../../../src/ports/clock.ts";
import { systemRandom } from "../../../src/ports/random.ts";
import { openAccess } from "../../../src/programs/access.ts";
import { type RunningScheduler, startScheduler } from "../../../src/programs/scheduler.ts";
import { resolveSchedulerSettings } from "../../../src/programs/scheduler-settings.ts";
import { type LogLine, recordingLog } from "../../fakes/log.ts";

/** The fields of every answer, for a test to read those of the call that it made. One test holds them to the document. */
export interface ApiBody {
  readonly node: WireNode;
  readonly nodes: readonly WireNode[];
  readonly reservation: WireReservation & { readonly token: string };
  readonly reservations: readonly WireReservation[];
  readonly cursor: string | null;
  readonly generation: number;
  readonly error: Problem["error"];
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: ApiBody;
}

/** A scheduler's actors and its HTTP server in this process, on a port of its own. */
export class RunningApi implements AsyncDisposable {
  readonly url: string;
  readonly scheduler: RunningScheduler;
  readonly lines: readonly LogLine[];
  readonly #system: ActorSystem;

  constructor(url: string, scheduler: RunningScheduler, system: ActorSystem, lines: readonly LogLine[]) {
    this.url = url;
    this.scheduler = scheduler;
    this.#system = system;
    this.lines = lines;
  }

  /** Node's own server; there is one where HTTP is answered in this thread. */
  get server(): Server {
    const { http } = this.scheduler;
    if (!("app" in http)) throw new Error("HTTP is answered in other threads");
    return (http as HttpServer).app.server;
  }

  /** Ends a worker thread as its own end does; its actors are then started again. */
  endThread(place: string): Promise<boolean> {
    return this.#system.endThread(place, 5_000);
  }

  /** The next time that this actor begins another life. */
  restarted(actor: string): Promise<void> {
    return new Promise((resolve) => {
      this.#system.events.on("restarted", (life) => {
        if (life.actor === actor) resolve();
      });
    });
  }

  /** `body` of undefined sends none; a string is sent as it is. */
  async call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<ApiAnswer> {
    const sent = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const response = await fetch(`${this.url}${path}`, { method, ...sent, headers: { ...type, ...headers } });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json") === true && text !== "";
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: (isJson ? JSON.parse(text) : {}) as ApiBody,
    };
  }

  get(path: string): Promise<ApiAnswer> {
    return this.call("GET", path);
  }

  post(path: string, body?: unknown): Promise<ApiAnswer> {
    return this.call("POST", path, body);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.scheduler.http.close(1_000);
    await this.#system.stop(1_000);
  }
}

export interface RunningApiOptions {
  /** Scalar settings, by flag name in camel case. */
  readonly flags?: Readonly<Record<string, string | boolean>>;
  readonly eventLog?: EventLog;
  readonly clock?: Clock;
}

export async function startApi({
  flags = {},
  eventLog = memoryLog,
  clock = systemClock,
}: RunningApiOptions = {}): Promise<RunningApi> {
  const lines: LogLine[] = [];
  const log = recordingLog(lines);
  const system = new ActorSystem({ clock, random: systemRandom, logFor: () => log });
  const settings = resolveSchedulerSettings({ flags: { apiThreads: "1", ...flags }, environment: {}, file: null });
  const access = openAccess(settings, { clock, log });
  const scheduler = startScheduler({ system, settings, access, log, clock, eventLog });
  const { host, port } = await scheduler.http.listen({ host: "127.0.0.1", port: 0 });
  return new RunningApi(`http://${host}:${port}`, scheduler, system, lines);
}

/** A heartbeat of a node of 8 cores and 32 GiB with nothing on it. */
export function freshNode(nodeId: string, more: object = {}): object {
  return {
    endpoint: `http://${nodeId}.example:8000`,
    service_instance_id: `${nodeId}-1`,
    snapshot: { cpu_count: 8, memory_total_bytes: 32 * 2 ** 30 },
    sandbox_ids: [],
    ...more,
  };
}

export const coldSandbox = (cpuCount: number, memoryMib: number): object => ({
  hint: { new_cold_sandbox: { cpu_count: cpuCount, memory_mb: memoryMib } },
});
