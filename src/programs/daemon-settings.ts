import { hostname } from "node:os";
import { join } from "node:path";
import {
  durationBetween,
  endpointSchema,
  fileModeSchema,
  httpUrlSchema,
  LOG_FORMATS,
  LOG_LEVELS,
  nodeIdSchema,
  numberFrom,
  oneOf,
  sandboxCgroupSchema,
  switchSchema,
  textNamed,
} from "../messages/settings.ts";
import { systemRoots } from "../ports/kernel-roots.ts";
import { CREDENTIAL_SETTINGS } from "./credential-settings.ts";
import type { Values } from "./options.ts";

/** Shorter than 100 ms a refresh would measure itself; longer than 5 min nobody would call it a load signal. */
const INTERVAL_MS = { least: 100, most: 300_000, usual: 5_000 };

export const LOG_SETTINGS = {
  logLevel: {
    key: "log_level",
    value: "LEVEL",
    help: `least level that is logged: ${LOG_LEVELS.join(", ")}`,
    shownDefault: "info",
    schema: oneOf(LOG_LEVELS).default("info"),
  },
  logFormat: {
    key: "log_format",
    value: "FORMAT",
    help: "auto (pretty on a terminal, else json), json or pretty",
    shownDefault: "auto",
    schema: oneOf(LOG_FORMATS).default("auto"),
  },
} as const;

export const SOCKET_SETTING = {
  key: "socket",
  value: "PATH",
  help: "Unix socket that GET /resource is served on",
  shownDefault: defaultSocketPath(process.env, process.getuid?.() ?? 0),
  schema: textNamed("a path").default(defaultSocketPath(process.env, process.getuid?.() ?? 0)),
} as const;

export const DAEMON_SETTINGS = {
  socket: SOCKET_SETTING,
  socketMode: {
    key: "socket_mode",
    value: "MODE",
    help: "permissions of the socket, in octal",
    shownDefault: "0660",
    schema: fileModeSchema.default(0o660),
  },
  socketGroup: {
    key: "socket_group",
    value: "GROUP",
    help: "group that the socket is given to, by name or number; without it the daemon's own",
    schema: textNamed("a group").nullable().default(null),
  },
  nodeId: {
    key: "node_id",
    value: "ID",
    help: "name of this node in logs and towards a scheduler",
    shownDefault: "the host name",
    schema: nodeIdSchema.default(hostname() || "localhost"),
  },
  intervalMs: {
    key: "interval",
    value: "DURATION",
    help: "time between two samples, 100ms to 5m",
    shownDefault: "5s",
    schema: durationBetween(INTERVAL_MS.least, INTERVAL_MS.most).default(INTERVAL_MS.usual),
  },
  filestore: {
    key: "filestore",
    value: "DIR",
    help: "directory whose filesystem holds the sandboxes' writable storage; without it disk is unknown",
    schema: textNamed("a path").nullable().default(null),
  },
  filestoreOvercommitRatio: {
    key: "filestore_overcommit_ratio",
    value: "RATIO",
    help: "bytes promised per free byte of the filestore, at least 1",
    shownDefault: "1",
    schema: numberFrom(1).default(1),
  },
  sandboxCgroup: {
    key: "sandbox_cgroup",
    value: "PATH",
    help: "cgroup that holds the sandboxes, below each cgroup mount; its limits count too",
    schema: sandboxCgroupSchema.nullable().default(null),
  },
  schedulerUrl: {
    key: "scheduler",
    value: "URL",
    help: "scheduler that each refresh is reported to, such as http://127.0.0.1:7070",
    schema: httpUrlSchema.nullable().default(null),
  },
  noRuntime: {
    key: "no_runtime",
    help: "no sandbox runtime reports for this node: the scheduler's own ledger counts what runs here",
    schema: switchSchema.default(false),
  },
  endpoint: {
    key: "endpoint",
    value: "ADDRESS",
    help: "where creates for this node are sent, as told to the scheduler, such as http://10.0.0.7:8000",
    schema: endpointSchema.nullable().default(null),
  },
  ...CREDENTIAL_SETTINGS,
  ...LOG_SETTINGS,
  proc: {
    key: "proc",
    value: "DIR",
    help: "read this tree in place of /proc",
    hidden: true,
    schema: textNamed("a path").default(systemRoots.proc),
  },
  sys: {
    key: "sys",
    value: "DIR",
    help: "read this tree in place of /sys",
    hidden: true,
    schema: textNamed("a path").default(systemRoots.sys),
  },
} as const;

export type DaemonSettings = Values<typeof DAEMON_SETTINGS>;

/** `/run/evenkeel` for root, else the user's runtime folder, else a private folder below /tmp. */
export function defaultSocketPath(environment: NodeJS.ProcessEnv, uid: number): string {
  const runtime = environment.XDG_RUNTIME_DIR;
  if (uid === 0) return "/run/evenkeel/resource.sock";
  return runtime ? join(runtime, "evenkeel", "resource.sock") : `/tmp/evenkeel-${uid}/resource.sock`;
}
