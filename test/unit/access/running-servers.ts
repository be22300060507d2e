import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { GrpcServer } from "../../../src/actors/api/grpc/server.ts";
import { ActorSystem } from "../../../src/actors/kernel/system.ts";
import { memoryLog } from "../../../src/actors/placement/event-log.ts";
import { systemClock } from "../../../src/ports/clock.ts";
import { systemRandom } from "../../../src/ports/random.ts";
import { openAccess } from "../../../src/programs/access.ts";
import { createGrpcApi } from "../../../src/programs/grpc-api.ts";
import { type RunningScheduler, startScheduler } from "../../../src/programs/scheduler.ts";
import { resolveSchedulerSettings } from "../../../src/programs/scheduler-settings.ts";
import { type LogLine, recordingLog } from "../../fakes/log.ts";

export interface ServerOptions {
  /** By flag name in camel case. */
  readonly flags?: Readonly<Record<string, string | boolean>>;
  /** Contents of files, by the flag that names each. */
  readonly files?: Readonly<Record<string, string>>;
  /** Contents of the configuration file. */
  readonly config?: object;
}

/** A scheduler's HTTP and gRPC servers in this process, on ports of their own. */
export class RunningServers implements AsyncDisposable {
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly scheduler: RunningScheduler;
  readonly lines: readonly LogLine[];
  readonly #grpc: GrpcServer;
  readonly #system: ActorSystem;
  readonly #folder: string;

  private constructor(parts: {
    readonly ports: { readonly http: number; readonly grpc: number };
    readonly scheduler: RunningScheduler;
    readonly grpc: GrpcServer;
    readonly system: ActorSystem;
    readonly folder: string;
    readonly lines: readonly LogLine[];
  }) {
    this.httpPort = parts.ports.http;
    this.grpcPort = parts.ports.grpc;
    this.scheduler = parts.scheduler;
    this.lines = parts.lines;
    this.#grpc = parts.grpc;
    this.#system = parts.system;
    this.#folder = parts.folder;
  }

  static async start({ flags = {}, files = {}, config }: ServerOptions = {}): Promise<RunningServers> {
    const folder = mkdtempSync(join(tmpdir(), "evenkeel-servers-"));
    const paths = Object.fromEntries(Object.keys(files).map((flag) => [flag, join(folder, flag)]));
    for (const [flag, text] of Object.entries(files)) writeFileSync(join(folder, flag), text);
    const file = config === undefined ? null : join(folder, "config.json");
    if (file !== null) writeFileSync(file, JSON.stringify(config));
    const lines: LogLine[] = [];
    const log = recordingLog(lines);
    const clock = systemClock;
    const system = new ActorSystem({ clock, random: systemRandom, logFor: () => log });
    const given = { stateDir: "none", grpc: "127.0.0.1:0", apiThreads: "1", ...paths, ...flags };
    const settings = resolveSchedulerSettings({ flags: given, environment: {}, file });
    const access = openAccess(settings, { clock, log });
    const scheduler = startScheduler({ system, settings, access, log, clock, eventLog: memoryLog });
    const grpc = await createGrpcApi({ settings, access, ...scheduler, clock, log });
    const http = await scheduler.http.listen({ host: "127.0.0.1", port: 0 });
    const { port } = await grpc.listen({ host: "127.0.0.1", port: 0 });
    return new RunningServers({ ports: { http: http.port, grpc: port }, scheduler, grpc, system, folder, lines });
  }

  get grpcAddress(): string {
    return `127.0.0.1:${this.grpcPort}`;
  }

  /** Writes the file of a flag anew. */
  rewrite(flag: string, text: string): void {
    writeFileSync(join(this.#folder, flag), text);
  }

  async call(method: string, path: string, { token, body }: { token?: string; body?: object } = {}): Promise<Answered> {
    const response = await fetch(`http://127.0.0.1:${this.httpPort}${path}`, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json") === true && text !== "";
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : {} };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.scheduler.http.close(500), this.#grpc.close(500)]);
    await this.#system.stop(1_000);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    readonly error?: { readonly code: string; readonly message: string; readonly details: object };
    readonly reservation?: { readonly id: string; readonly token?: string };
    readonly reservations?: readonly object[];
    readonly node?: { readonly node_id: string; readonly endpoint: string | null };
    readonly nodes?: readonly { readonly node_id: string }[];
    readonly generation?: number;
  };
}
