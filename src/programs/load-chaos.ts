/** A scheduler of its own that a load run kills and restarts at random moments, and what must hold after each restart. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Chaos } from "../actors/load/chaos.ts";
import { listReservations, readinessOf } from "../actors/load/evidence.ts";
import type { Promised } from "../actors/load/messages.ts";
import { brokenPromises, doubleBooked, type KnownReservation } from "../actors/load/promises.ts";
import { SchedulerCalls } from "../actors/load/scheduler-calls.ts";
import { describeThrown } from "../messages/thrown.ts";
import type { Clock } from "../ports/clock.ts";
import { pause } from "../ports/pause.ts";
import type { Random } from "../ports/random.ts";
import { LoadError } from "./load-terms.ts";

/** Short enough that abandoned leases end within a run; far above what a restart takes. */
const LEASE = "20s";
const UNCERTAIN_TTL = "5s";
const UNCERTAIN_TTL_MS = 5_000;
/** How long it lives between two deaths: from the middle of its replay to a good while of service. */
const LIFE_MS = { least: 50, most: 1_500 };
/** Of the kills, those that come while it is still starting, and when they do at the latest. */
const EARLY_SHARE = 0.2;
const EARLY_MS = 1_000;
/** Loading, replay and the first reports of its nodes, on a machine that is busy. */
const START_WITHIN_MS = 30_000;
const POLL_MS = 20;
const STATES_THAT_ENDED = ["settled", "cancelled", "expired"] as const;

export interface ChaosTerms {
  readonly kills: number;
  /** Sandboxes that a node of the run has room for. */
  readonly roomPerNode: number;
}

export interface ChaosPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly say: (line: string) => void;
}

export class ChaosScheduler implements Chaos {
  readonly broken: string[] = [];
  leasesLastUntilWallMs = Number.NEGATIVE_INFINITY;
  readonly #terms: ChaosTerms;
  readonly #ports: ChaosPorts;
  readonly #folder = mkdtempSync(join(tmpdir(), "evenkeel-chaos-"));
  readonly #promised = new Map<string, Promised>();
  #child: ChildProcess | null = null;
  #url = "";
  #over = false;

  constructor(terms: ChaosTerms, ports: ChaosPorts) {
    this.#terms = terms;
    this.#ports = ports;
  }

  /** Returns its base URL, which it keeps over restarts. */
  async start(): Promise<string> {
    this.#url = await this.#live("127.0.0.1:0");
    return this.#url;
  }

  heard(promised: Promised): void {
    this.#promised.set(promised.grant.id, promised);
  }

  async wreak(): Promise<void> {
    const { random, clock, say } = this.#ports;
    const { kills } = this.#terms;
    const calls = new SchedulerCalls({ url: this.#url, token: null, tls: null }, 1);
    let early = false;
    try {
      for (let kill = 1; kill <= kills && !this.#over; kill++) {
        const { least, most } = early ? { least: 0, most: EARLY_MS } : LIFE_MS;
        await pause(clock, least + random.fraction() * (most - least));
        await this.#kill();
        const living = this.#live(new URL(this.#url).host);
        early = random.fraction() < EARLY_SHARE && kill < kills;
        if (early) {
          living.catch(() => undefined); // It never gets to serve.
          continue;
        }
        await living;
        await this.#untilReady(calls);
        if (!this.#over) await this.#audit(calls, kill);
        if (kill % 10 === 0 || kill === kills) {
          say(
            `  ${kill} of ${kills} kills, ${this.#promised.size} reservations promised, ${this.broken.length} broken`,
          );
        }
      }
    } finally {
      await calls.close();
    }
  }

  /** Kills it no more. */
  stop(): void {
    this.#over = true;
  }

  async end(): Promise<void> {
    this.stop();
    await this.#kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Begins a life of the scheduler; resolves when it serves, rejects when it dies before. */
  async #live(address: string): Promise<string> {
    const [program = ""] = process.argv.slice(1);
    const flags = ["--placement-reservation-ttl", LEASE, "--uncertain-ttl", UNCERTAIN_TTL, "--log-format", "json"];
    const args = ["scheduler", "--http", address, "--state-dir", join(this.#folder, "state"), ...flags];
    // A group of its own: Ctrl-C is for the load run, which needs a scheduler to clean up.
    const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "ignore", "pipe"], detached: true });
    this.#child = child;
    let said = "";
    return new Promise((resolve, reject) => {
      child.stderr?.setEncoding("utf8").on("data", (text: string) => {
        said = (said + text).slice(-10_000);
        const [, url] = /serving the HTTP API on (http:\/\/[\w.:[\]]+)/.exec(said) ?? [];
        if (url !== undefined) resolve(url);
      });
      child.once("exit", () =>
        reject(new LoadError(`the scheduler ended by itself: ${said.trim().split("\n").at(-1)}`)),
      );
    });
  }

  async #kill(): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  async #untilReady(calls: SchedulerCalls): Promise<void> {
    const { clock } = this.#ports;
    const untilMs = clock.monotonicMs() + START_WITHIN_MS;
    for (let why = "it has not been asked"; ; await pause(clock, POLL_MS)) {
      if (this.#over) return;
      if (clock.monotonicMs() > untilMs) throw new LoadError(`restarted, the scheduler does not get ready: ${why}`);
      try {
        const readiness = await readinessOf(calls);
        if (readiness.ready) break;
        ({ why } = readiness);
      } catch (thrown) {
        why = describeThrown(thrown);
      }
    }
    this.leasesLastUntilWallMs = clock.wallMs() + UNCERTAIN_TTL_MS;
  }

  async #audit(calls: SchedulerCalls, kill: number): Promise<void> {
    // What is told from here on may be newer than what is read.
    const promised = [...this.#promised.values()];
    const known = new Map<string, KnownReservation>();
    // Live ones before and after: whatever moves on meanwhile is found in one of them.
    await this.#read(calls, null, known);
    for (const state of STATES_THAT_ENDED) await this.#read(calls, state, known);
    const now = new Map([...known].filter(([, { state }]) => state === "settled"));
    await this.#read(calls, null, now);
    for (const [id, found] of now) known.set(id, found);
    const { roomPerNode } = this.#terms;
    for (const what of [...brokenPromises(promised, known), ...doubleBooked(now.values(), { roomPerNode })]) {
      this.broken.push(`after kill ${kill}: ${what}`);
    }
  }

  async #read(calls: SchedulerCalls, state: string | null, into: Map<string, KnownReservation>): Promise<void> {
    for (const { id, nodeId, state: found } of await listReservations(calls, state)) {
      into.set(id, { nodeId, state: found });
    }
  }
}
