import { describeThrown } from "../../messages/thrown.ts";
import type { Actor } from "./actor.ts";
import type { Host, HostEvents } from "./host.ts";
import type { Envelope } from "./mailbox.ts";
import type { Message } from "./message.ts";

/** A life in this thread. `make` builds the actor; it may be a promise, because a portable actor's module is imported. */
export function openLocalHost(make: () => Actor<Message> | Promise<Actor<Message>>, events: HostEvents): Host {
  let actor: Actor<Message> | null = null;
  let stopped = false;

  const begin = (made: Actor<Message>): void => {
    if (stopped) {
      made.stopped?.();
      return;
    }
    actor = made;
    events.started();
  };

  try {
    const made = make();
    if (made instanceof Promise) made.then(begin).catch((thrown: unknown) => events.died(describeThrown(thrown)));
    else begin(made);
  } catch (thrown) {
    events.died(describeThrown(thrown));
  }

  return {
    window: 1,
    deliver(envelope) {
      events.handled(handle(actor, envelope));
    },
    drained() {
      try {
        actor?.drained?.();
      } catch (thrown) {
        events.drainFailed(describeThrown(thrown));
      }
    },
    async handover() {
      return actor?.handover?.();
    },
    async stop() {
      stopped = true;
      const last = actor;
      actor = null;
      last?.stopped?.();
    },
  };
}

/** Runs one handler; what it threw, in words, or null. The asker is told at once. */
export function handle(actor: Actor<Message> | null, envelope: Envelope): string | null {
  if (actor === null) return "it has no life to handle it";
  let answered = false;
  try {
    actor.receive(envelope.message, (value) => {
      if (answered) return;
      answered = true;
      envelope.answer?.(value);
    });
    return null;
  } catch (thrown) {
    const reason = describeThrown(thrown);
    envelope.fail?.("failed", reason);
    return reason;
  }
}
