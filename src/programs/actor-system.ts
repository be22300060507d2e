import type { Logger } from "pino";
import { ActorSystem } from "../actors/kernel/system.ts";
import { systemClock } from "../ports/clock.ts";
import { systemRandom } from "../ports/random.ts";

/** An actor system on the real clock, whose supervision is seen in the log. */
export function createActorSystem(log: Logger): ActorSystem {
  const system = new ActorSystem({
    clock: systemClock,
    random: systemRandom,
    logFor: (actor) => log.child({ actor }),
  });
  system.events.on("failed", ({ actor, reason, retryMs }) => {
    const what = retryMs === null ? "goes on with the next message" : `restarts in ${retryMs} ms`;
    log.error({ actor, reason, retryMs }, `${actor} failed: ${reason}; it ${what}`);
  });
  system.events.on("restarted", ({ actor, lives }) => log.info({ actor, lives }, `${actor} is running again`));
  return system;
}
