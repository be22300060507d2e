/** A scheduler, stub nodes and a gateway, each a process of its own. */
import { vi } from "vitest";
import type { WireReservation } from "../../src/messages/http/reservation.ts";
import { RESERVATION_STATES } from "../../src/messages/placement.ts";
import { StubNode } from "./gateway-stub-node.ts";
import { RunningProgram } from "./running-program.ts";
import { SchedulerProcess } from "./scheduler-process.ts";

const WAIT_DEADLINE_MS = 20_000;
const POLL_MS = 20;

export interface WorldOptions {
  readonly nodes: readonly string[];
  readonly cpuCount?: number;
  readonly schedulerArgs?: readonly string[];
  readonly gatewayArgs?: readonly string[];
}

export class GatewayWorld implements AsyncDisposable {
  scheduler: SchedulerProcess;
  readonly nodes: readonly StubNode[];
  readonly program: RunningProgram;
  /** Where clients go. */
  readonly url: string;
  readonly adminUrl: string;
  readonly #known = new Set<string>();

  private constructor(made: {
    scheduler: SchedulerProcess;
    nodes: readonly StubNode[];
    program: RunningProgram;
    url: string;
    adminUrl: string;
  }) {
    this.scheduler = made.scheduler;
    this.nodes = made.nodes;
    this.program = made.program;
    this.url = made.url;
    this.adminUrl = made.adminUrl;
  }

  static async start({ nodes, cpuCount, schedulerArgs = [], gatewayArgs = [] }: WorldOptions): Promise<GatewayWorld> {
    const scheduler = await SchedulerProcess.start(["--state-dir", "none", ...schedulerArgs]);
    const stubs: StubNode[] = [];
    for (const nodeId of nodes) stubs.push(await StubNode.start(nodeId, scheduler.url, cpuCount));
    const own = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--scheduler", scheduler.url];
    const program = new RunningProgram(["gateway", ...own, ...gatewayArgs]);
    const [, line = ""] = await program.says(/(\{.*forwarding what comes to.*\})/);
    const { http, admin } = JSON.parse(line) as { http: string; admin: string };
    return new GatewayWorld({ scheduler, nodes: stubs, program, url: http, adminUrl: admin });
  }

  node(nodeId: string): StubNode {
    const found = this.nodes.find((node) => node.nodeId === nodeId);
    if (found === undefined) throw new Error(`no node ${nodeId}`);
    return found;
  }

  /** A create, told what the nodes shall do with it. */
  create(
    stub: string,
    { body = { cpuCount: 2, memoryMB: 2048 }, headers = {}, path = "/sandboxes-cold", ...init }: Wanted = {},
  ) {
    return fetch(`${this.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-stub": stub, ...headers },
      body: JSON.stringify(body),
      ...init,
    });
  }

  /** Every reservation that the scheduler knows, in whatever state. */
  async reservations(): Promise<WireReservation[]> {
    const pages = RESERVATION_STATES.map((state) =>
      this.scheduler.call<{ reservations: WireReservation[] }>("GET", `/v1/reservations?state=${state}&limit=10000`),
    );
    return (await Promise.all(pages)).flatMap(({ body }) => body.reservations);
  }

  /** Those that were made since this was last asked, the oldest first, as the scheduler has them now. */
  async newReservations(): Promise<WireReservation[]> {
    const all = (await this.reservations()).filter(({ id }) => !this.#known.has(id));
    for (const { id } of all) this.#known.add(id);
    return all.sort((left, right) => left.created_at.localeCompare(right.created_at));
  }

  /** Polls until the reservations are as they should be. */
  until(isIt: (reservations: readonly WireReservation[]) => boolean): Promise<WireReservation[]> {
    return vi.waitFor(
      async () => {
        const reservations = await this.reservations();
        if (!isIt(reservations)) throw new Error(`still ${JSON.stringify(reservations)}`);
        return reservations;
      },
      { timeout: WAIT_DEADLINE_MS, interval: POLL_MS },
    );
  }

  /** Reports of all nodes: two rosters settle what is confirmed. */
  async settle(): Promise<void> {
    for (let round = 0; round < 3; round += 1) for (const node of this.nodes) await node.report();
  }

  /** What is in flight on all nodes together. */
  async inFlight(): Promise<{ pending: number; confirmed: number }> {
    const { body } = await this.scheduler.call<{
      nodes: { reservations: { pending: number; confirmed: number } }[];
    }>("GET", "/v1/nodes");
    return body.nodes.reduce(
      (sum, { reservations }) => ({
        pending: sum.pending + reservations.pending,
        confirmed: sum.confirmed + reservations.confirmed,
      }),
      { pending: 0, confirmed: 0 },
    );
  }

  /** The value of a series of the gateway; 0 when there is none. */
  async metric(series: string): Promise<number> {
    const text = await (await fetch(`${this.adminUrl}/metrics`)).text();
    const line = text.split("\n").find((each) => each.startsWith(`${series} `));
    return line === undefined ? 0 : Number(line.slice(series.length + 1));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.program[Symbol.asyncDispose]();
    for (const node of this.nodes) await node[Symbol.asyncDispose]();
    await this.scheduler[Symbol.asyncDispose]();
  }
}

interface Wanted {
  readonly headers?: Readonly<Record<string, string>>;
  readonly path?: string;
  readonly body?: object;
  readonly signal?: AbortSignal;
}
