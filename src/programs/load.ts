import { EvidenceError, UnreachableError } from "../actors/load/evidence.ts";
import { systemClock } from "../ports/clock.ts";
import { systemRandom } from "../ports/random.ts";
import { createActorSystem } from "./actor-system.ts";
import type { ApiCommandOptions } from "./api-client.ts";
import { leave, untilStopped } from "./leaving.ts";
import { hasPassed, renderLoadJson, renderLoadPage } from "./load-report.ts";
import { LoadError, type LoadResult, LoadRun } from "./load-run.ts";
import type { LoadSettings } from "./load-settings.ts";
import { createLogger } from "./logging.ts";

/** Time for the worker threads to end; they hold nothing but sockets. */
const STOP_DEADLINE_MS = 2_500;
// 6 characters of 32: two runs of one scheduler's memory do not meet.
const PREFIX_BYTES = 6;

/** Runs the load and prints what came of it. Returns the exit code: 0 when it ran to its end and the audit holds. */
export async function runLoad(settings: LoadSettings, options: ApiCommandOptions): Promise<number> {
  const { url, json, output, errors } = options;
  const stopped = untilStopped();
  const seed = settings.seed ?? Math.floor(systemRandom.fraction() * 2 ** 32);
  const log = await createLogger({ logLevel: "error", logFormat: "auto" });
  const system = createActorSystem(log);
  const say = (line: string): void => void errors.write(`${line}\n`);
  say(`seed ${seed}; load on ${url}`);
  const run = new LoadRun(
    { ...settings, scheduler: url, seed, prefix: `load-${randomName()}` },
    { system, clock: systemClock, say },
  );
  // What is under way is brought to its end, audited and taken away again; a second signal ends the process at once.
  stopped.then((signal) => run.stop(signal));
  let passed = false;
  try {
    const result = await run.execute();
    passed = hasPassed(result);
    output.write(json ? renderLoadJson(result) : renderLoadPage(result));
    if (!passed) say(`evenkeel: ${failureOf(result)}; the same run again: --seed ${seed}`);
  } catch (thrown) {
    if (!(thrown instanceof EvidenceError || thrown instanceof LoadError)) throw thrown;
    say(`evenkeel: ${thrown.message}${thrown instanceof UnreachableError ? START_ONE : ""}`);
  } finally {
    await run.cleanUp();
  }
  return leave({ system, log, code: passed ? 0 : 1, deadlineMs: STOP_DEADLINE_MS });
}

const START_ONE = '; start one with "npx evenkeel scheduler", or name another with --scheduler URL';

function failureOf({ cutShort }: LoadResult): string {
  return cutShort === null ? "the audit failed" : `the run was cut short by ${cutShort}`;
}

function randomName(): string {
  return [...systemRandom.bytes(PREFIX_BYTES)].map((byte) => (byte % 32).toString(32)).join("");
}
