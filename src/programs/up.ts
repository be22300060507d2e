import type { Logger } from "pino";
import { systemClock } from "../ports/clock.ts";
import { openAccess } from "./access.ts";
import { createActorSystem } from "./actor-system.ts";
import { formatAddress, type HostAndPort, isLoopback } from "./address.ts";
import { USUAL_SCHEDULER_URL } from "./api-client-settings.ts";
import { missingProcfs, type RunningDaemon, startDaemon } from "./daemon.ts";
import { type DaemonSettings, SOCKET_SETTING } from "./daemon-settings.ts";
import { openEventLog } from "./event-log.ts";
import { createGrpcApi } from "./grpc-api.ts";
import { leave, untilStopped } from "./leaving.ts";
import { describeListenError } from "./listen-error.ts";
import { createLogger } from "./logging.ts";
import { variableOf } from "./options.ts";
import { startScheduler } from "./scheduler.ts";
import { SCHEDULER_SETTINGS, type SchedulerSettings } from "./scheduler-settings.ts";

/** Together below the 5 s within which Ctrl-C ends everything. */
const ANSWER_GRACE_MS = 1_500;
const STOP_DEADLINE_MS = 2_500;

export interface UpSettings {
  readonly scheduler: SchedulerSettings;
  /** Its scheduler is the one that is started here, and no sandbox runtime reports for its node. */
  readonly daemon: DaemonSettings;
}

/**
 * Runs a scheduler and a daemon that reports to it, in one process and under one supervision, until it is told to stop.
 * Returns the exit code.
 */
export async function runUp(settings: UpSettings): Promise<number> {
  const unfit = missingProcfs(settings.daemon);
  if (unfit !== null) return complain(unfit);
  const stopped = untilStopped();
  const log = await createLogger(settings.scheduler);
  const system = createActorSystem(log);
  const clock = systemClock;
  const access = openAccess(settings.scheduler, { clock, log });
  const opened = await openEventLog(system, settings.scheduler.stateDir, log);
  if ("refusal" in opened) {
    complain(opened.refusal);
    return leave({ system, log, code: 1, deadlineMs: STOP_DEADLINE_MS });
  }
  const { eventLog } = opened;
  const wiring = { system, settings: settings.scheduler, access, log, clock };
  const { http, ...parts } = startScheduler({ ...wiring, eventLog });
  const { grpc: grpcAt } = settings.scheduler;
  const grpc = grpcAt === null ? null : await createGrpcApi({ ...wiring, ...parts });
  let daemon: RunningDaemon | null = null;

  async function end(code: number): Promise<number> {
    await Promise.all([daemon?.close(), http.close(ANSWER_GRACE_MS), grpc?.close(ANSWER_GRACE_MS)]);
    return leave({ system, log, code, deadlineMs: STOP_DEADLINE_MS });
  }

  let url: string;
  try {
    url = reachableUrl(await http.listen(settings.scheduler.http), settings.scheduler);
  } catch (thrown) {
    complain(describeListenError(thrown, settings.scheduler.http));
    return end(1);
  }
  if (grpc !== null && grpcAt !== null) {
    try {
      const at = formatAddress(await grpc.listen(grpcAt));
      log.info({ grpc: at }, `serving the gRPC API on ${at}`);
    } catch (thrown) {
      complain(describeListenError(thrown, grpcAt, variableOf(SCHEDULER_SETTINGS.grpc)));
      return end(1);
    }
  }
  const daemonSettings = { ...settings.daemon, schedulerUrl: url, noRuntime: true };
  daemon = startDaemon(system, daemonSettings);
  await daemon.firstRefresh;
  const refusal = await daemon.listen();
  if (refusal !== null) {
    complain(refusal);
    return end(1);
  }
  warn(log, settings.scheduler);
  process.stdout.write(welcome(url, daemonSettings));
  const signal = await stopped;
  log.info({ signal }, `stopping on ${signal}`);
  return end(0);
}

/** What to try next, with the options that this scheduler and this daemon are found by. */
export function welcome(url: string, { nodeId, socket }: Pick<DaemonSettings, "nodeId" | "socket">): string {
  const at = url === USUAL_SCHEDULER_URL ? "" : ` --scheduler ${url}`;
  const on = socket === SOCKET_SETTING.shownDefault ? "" : ` --socket ${socket}`;
  return `evenkeel is up: a scheduler on ${url}, and this machine as its node ${nodeId}.

Try in another terminal:
  $ npx evenkeel resource${on}
  $ npx evenkeel nodes${at}
  $ npx evenkeel schedule --cpu 1 --memory 1GiB${at}
  $ npx evenkeel confirm TOKEN my-sandbox${at}
  $ npx evenkeel reservations${at}
  $ npx evenkeel release my-sandbox${at}

Ctrl-C stops both.
`;
}

/** An address that this machine reaches the server by: a server on every address is also on the loopback one. */
function reachableUrl({ host, port }: HostAndPort, { tlsCert }: Pick<SchedulerSettings, "tlsCert">): string {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `${tlsCert === null ? "http" : "https"}://${formatAddress({ host: reachable, port })}`;
}

function warn(log: Logger, { http, grpc, tokens }: SchedulerSettings): void {
  if (tokens !== null) return;
  const open = Object.entries({ HTTP: http, gRPC: grpc }).filter(([, at]) => at !== null && !isLoopback(at));
  for (const [api] of open) log.warn(`the ${api} API is open to other machines and asks nobody who they are`);
}

function complain(line: string): number {
  process.stderr.write(`evenkeel: ${line}\n`);
  return 1;
}
