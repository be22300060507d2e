import { EvidenceError } from "../actors/load/evidence.ts";
import type { NodeRole } from "../actors/load/messages.ts";
import type { SchedulerAccess } from "../actors/load/scheduler-calls.ts";
import { systemClock } from "../ports/clock.ts";
import { seededRandom, systemRandom } from "../ports/random.ts";
import { createActorSystem } from "./actor-system.ts";
import type { ApiCommandOptions } from "./api-client.ts";
import { leave, untilStopped } from "./leaving.ts";
import { type ChaosPorts, ChaosScheduler } from "./load-chaos.ts";
import { mendOf } from "./load-mend.ts";
import { hasPassed, renderLoadJson, renderLoadPage } from "./load-report.ts";
import { readRoles, rolesWithoutTokens } from "./load-roles.ts";
import { LoadRun } from "./load-run.ts";
import type { LoadSettings } from "./load-settings.ts";
import { LoadError, type LoadResult } from "./load-terms.ts";
import { createLogger } from "./logging.ts";

/** Time for the worker threads to end; they hold nothing but sockets. */
const STOP_DEADLINE_MS = 2_500;
// 6 characters of 32: two runs of one scheduler's memory do not meet.
const PREFIX_BYTES = 6;
/** Under chaos the kills end the run; what is remembered of ended reservations must last until then. */
const CHAOS_REQUESTS_MAX = 90_000;

/** Runs the load and prints what came of it. Returns the exit code: 0 when it ran to its end and the audit holds. */
export async function runLoad(settings: LoadSettings, options: ApiCommandOptions): Promise<number> {
  const { json, output, errors } = options;
  const prefix = `load-${randomName()}`;
  const nodes = rolesOf(settings, prefix);
  const stopped = untilStopped();
  const seed = settings.seed ?? Math.floor(systemRandom.fraction() * 2 ** 32);
  const log = await createLogger({ logLevel: "error", logFormat: "auto" });
  const system = createActorSystem(log);
  const say = (line: string): void => void errors.write(`${line}\n`);
  const chaos = chaosOf(settings, { clock: systemClock, random: seededRandom(seed), say });
  const scheduler = chaos === null ? accessOf(options) : { url: await chaos.start(), token: null, tls: null };
  say(`seed ${seed}; load on ${scheduler.url}`);
  const requests = chaos === null ? settings.requests : CHAOS_REQUESTS_MAX;
  const run = new LoadRun(
    { ...settings, requests, scheduler, nodes, seed, prefix },
    { system, clock: systemClock, say, chaos },
  );
  // What is under way is brought to its end, audited and taken away again; a second signal ends the process at once.
  stopped.then((signal) => {
    chaos?.stop();
    run.stop(signal);
  });
  let passed = false;
  try {
    const result = await run.execute();
    passed = hasPassed(result);
    output.write(json ? renderLoadJson(result) : renderLoadPage(result));
    if (!passed) say(`evenkeel: ${failureOf(result)}; the same run again: --seed ${seed}`);
  } catch (thrown) {
    if (!(thrown instanceof EvidenceError || thrown instanceof LoadError)) throw thrown;
    say(`evenkeel: ${thrown.message}${mendOf(thrown, settings.nodeTokens !== null)}`);
  } finally {
    await run.cleanUp();
    await chaos?.end();
  }
  return leave({ system, log, code: passed ? 0 : 1, deadlineMs: STOP_DEADLINE_MS });
}

function accessOf({ url, credentials }: ApiCommandOptions): SchedulerAccess {
  return { url, token: credentials.token(), tls: credentials.tls };
}

function rolesOf({ nodes, nodeTokens, chaosKills }: LoadSettings, prefix: string): NodeRole[] {
  return nodeTokens === null || chaosKills !== null ? rolesWithoutTokens(nodes, prefix) : readRoles(nodeTokens, nodes);
}

function chaosOf(settings: LoadSettings, ports: ChaosPorts): ChaosScheduler | null {
  const { chaosKills: kills, nodeCpuCount, nodeMemoryBytes, cpuCount, memoryBytes } = settings;
  if (kills === null) return null;
  const roomPerNode = Math.floor(Math.min(nodeCpuCount / cpuCount, nodeMemoryBytes / memoryBytes));
  return new ChaosScheduler({ kills, roomPerNode }, ports);
}

function failureOf({ cutShort }: LoadResult): string {
  return cutShort === null ? "the audit failed" : `the run was cut short by ${cutShort}`;
}

function randomName(): string {
  return [...systemRandom.bytes(PREFIX_BYTES)].map((byte) => (byte % 32).toString(32)).join("");
}
