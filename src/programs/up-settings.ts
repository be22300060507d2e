import { ACCESS_SETTINGS } from "./access-settings.ts";
import { DAEMON_SETTINGS } from "./daemon-settings.ts";
import { SCHEDULER_SETTINGS } from "./scheduler-settings.ts";

const { schedulerUrl: _schedulerUrl, noRuntime: _noRuntime, ...OWN_DAEMON_SETTINGS } = DAEMON_SETTINGS;

/** The flags of `evenkeel up`: what one wants to choose when trying it out. The rest is set by variables. */
export const UP_FLAGS = {
  http: SCHEDULER_SETTINGS.http,
  apiThreads: SCHEDULER_SETTINGS.apiThreads,
  stateDir: SCHEDULER_SETTINGS.stateDir,
  strategy: SCHEDULER_SETTINGS.strategy,
  placementReservationTtlMs: SCHEDULER_SETTINGS.placementReservationTtlMs,
  ...ACCESS_SETTINGS,
  ...OWN_DAEMON_SETTINGS,
} as const;
