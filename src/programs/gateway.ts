import { createAdminServer } from "../actors/gateway/admin.ts";
import { createGateway } from "../actors/gateway/server.ts";
import { systemClock } from "../ports/clock.ts";
import { systemRandom } from "../ports/random.ts";
import { formatAddress, type HostAndPort } from "./address.ts";
import { openCredentials } from "./credentials.ts";
import { createHttpScheduler } from "./gateway-scheduler.ts";
import { GATEWAY_SETTINGS, type GatewaySettings } from "./gateway-settings.ts";
import { untilStopped } from "./leaving.ts";
import { describeListenError } from "./listen-error.ts";
import { createLogger } from "./logging.ts";
import { flagOf } from "./options.ts";

interface Listener {
  listen(address: HostAndPort): Promise<HostAndPort>;
}

/** Runs the gateway until it is told to stop, then drains it. Returns the exit code. */
export async function runGateway(settings: GatewaySettings): Promise<number> {
  const credentials = openCredentials(settings);
  const stopped = untilStopped();
  const log = await createLogger(settings);
  const clock = systemClock;
  const scheduler = createHttpScheduler({ url: settings.schedulerUrl, credentials, clock, random: systemRandom });
  const gateway = await createGateway({ ...settings, scheduler, clock, log });
  const admin = createAdminServer(gateway.metrics);
  const adminUrl = await listen(admin, settings.admin, flagOf(GATEWAY_SETTINGS.admin));
  const url = adminUrl === null ? null : await listen(gateway, settings.listen, flagOf(GATEWAY_SETTINGS.listen));
  if (url === null) return 1;
  log.info({ http: url, admin: adminUrl, scheduler: settings.schedulerUrl }, `forwarding what comes to ${url}`);
  const signal = await stopped;
  log.info({ signal, drainMs: settings.drainMs }, `stopping on ${signal}: running requests may finish`);
  admin.drain();
  const undelivered = await gateway.close(settings.drainMs);
  await admin.close();
  if (undelivered > 0) {
    log.warn({ undelivered }, "the scheduler did not answer; the leases of these reservations end by themselves");
  }
  return 0;
}

/** The URL, or null when it cannot: why, and what to do, is then on standard error. */
async function listen(listener: Listener, address: HostAndPort, flag: string): Promise<string | null> {
  try {
    return `http://${formatAddress(await listener.listen(address))}`;
  } catch (thrown) {
    process.stderr.write(`evenkeel: ${describeListenError(thrown, address, flag)}\n`);
    return null;
  }
}
