import type { CacheMessage, Published } from "../../messages/resource.ts";
import type { Actor, ActorContext, LocalActor } from "../kernel/actor.ts";
import type { Reference } from "../kernel/reference.ts";
import { type CacheState, initialState, observe, serialise } from "./state.ts";

/** Who is told of each new state. */
export type Subscriber = Pick<Reference<Published>, "tell">;

/**
 * Owns the last observation of every source and the serialised answer. It tells its subscribers when that changed, so
 * that no request ever waits for it.
 */
export function resourceCache(subscribers: readonly Subscriber[]): LocalActor<CacheMessage> {
  return {
    create: ({ clock }: ActorContext): Actor<CacheMessage> => {
      let state: CacheState = initialState();
      let changed = false;
      return {
        receive(message) {
          state = observe(state, message, clock.monotonicMs());
          changed = true;
        },
        drained() {
          if (!changed) return;
          changed = false;
          const published: Published = {
            type: "published",
            body: new TextEncoder().encode(serialise(state.snapshot)),
            snapshot: state.snapshot,
            sources: Object.values(state.sources),
            capacityAtMs: state.capacityAtMs,
            refreshes: state.refreshes,
          };
          for (const subscriber of subscribers) subscriber.tell(published);
        },
      };
    },
  };
}
