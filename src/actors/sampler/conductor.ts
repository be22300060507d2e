import type { CacheMessage } from "../../messages/resource.ts";
import type { Observation, Sample, Source } from "../../messages/sampling.ts";
import type { Actor, ActorContext, LocalActor } from "../kernel/actor.ts";
import type { Reference } from "../kernel/reference.ts";

/**
 * The conductor beats time for the samplers. At each tick it asks every sampler for one sample and tells the cache of
 * those that did not answer the last. It holds no observation: what samplers post passes through it to the cache.
 *
 * A sampler takes one message at a time and queues none, so a full mailbox means that it is still busy with an earlier
 * sample. When a thread is stuck on one source, the others that live there are moved to a fresh thread; the stuck one
 * keeps its thread, and is used again when it comes back.
 */
export type ConductorMessage =
  | Observation
  /** From its own timers. */
  | { readonly type: "tick" }
  | { readonly type: "first_refresh_due" }
  /** Asked by the program: answered with null once every source has been heard, or the first refresh is due. */
  | { readonly type: "first_refresh" };

// An interface cannot be checked against an index signature, a type alias can.
export type ConductorReplies = { first_refresh: null };

export interface Seat {
  readonly source: Source;
  readonly sampler: Pick<Reference<Sample>, "tell">;
  /** The worker thread that the sampler begins in. */
  readonly place: string;
}

/** What the conductor needs of the threads. */
export interface Threads {
  /** The source whose sample the thread is working on or stuck in; null when it waits for work. */
  busyWith(place: string): Source | null;
  /** Starts the sampler afresh in another thread. */
  move(source: Source, place: string): void;
}

export interface ConductorOptions {
  readonly seats: readonly Seat[];
  readonly threads: Threads;
  readonly cache: Pick<Reference<CacheMessage>, "tell">;
  /** Between two ticks. */
  readonly intervalMs: number;
  /** How long the first refresh is waited for at most. */
  readonly firstRefreshMs: number;
}

/** A worker thread that is not up by then will not be soon. */
const STARTING_MS = 5_000;

export function conductor(options: ConductorOptions): LocalActor<ConductorMessage> {
  return { create: (context) => createConductor(options, context) };
}

function createConductor(options: ConductorOptions, context: ActorContext): Actor<ConductorMessage> {
  const { seats, threads, cache, intervalMs, firstRefreshMs } = options;
  const { clock, log } = context;
  const tellSelf = (message: ConductorMessage): void => context.tellSelf(message);
  const places = new Map<Source, string>(seats.map(({ source, place }) => [source, place]));
  /** The last tick in which each source was heard. */
  const heard = new Map<Source, number>();
  const silent = new Set<Source>();
  const failing = new Set<Source>();
  let freshPlaces = 0;
  let tick = 0;
  /** The last tick whose end the cache was told of. */
  let refreshedTick = 0;
  let firstRefreshAnswers: (() => void)[] | null = [];

  const startedAtMs = clock.monotonicMs();
  let timer = clock.after(0, beat);
  const firstDeadline = clock.after(firstRefreshMs, () => tellSelf({ type: "first_refresh_due" }));

  function beat(): void {
    tellSelf({ type: "tick" });
    timer = clock.after(untilNextBeatMs(clock.monotonicMs() - startedAtMs, intervalMs), beat);
  }

  function onTick(): void {
    const last = tick++;
    if (last > 0) for (const { source } of seats) if ((heard.get(source) ?? 0) < last) onSilence(source, last);
    if (last > refreshedTick) endRefresh(last);
    leaveStuckThreads(last);
    for (const { sampler } of seats) sampler.tell({ type: "sample", tick });
  }

  function endRefresh(ended: number): void {
    refreshedTick = ended;
    cache.tell({ type: "refreshed", tick: ended });
  }

  function onSilence(source: Source, missedTick: number): void {
    cache.tell({ type: "missed", source, tick: missedTick });
    if (silent.has(source)) return;
    // At the start its thread is still loading; that is no news.
    if (!heard.has(source) && clock.monotonicMs() - startedAtMs < STARTING_MS) return;
    silent.add(source);
    log.warn({ source, tick: missedTick }, `${source} is unknown: its sampler did not answer by the next tick`);
  }

  /** One stuck source must not silence its neighbours: they go on elsewhere, and lose this one tick at most. */
  function leaveStuckThreads(last: number): void {
    if (last === 0) return;
    for (const place of new Set(places.values())) {
      const stuck = threads.busyWith(place);
      if (stuck === null) continue;
      // Where it has moved away, a sample that it was asked for before has got stuck in its old thread.
      if (places.get(stuck) === place && (heard.get(stuck) ?? 0) >= last) continue;
      const neighbours = [...places].filter(([source, own]) => own === place && source !== stuck);
      if (neighbours.length === 0) continue;
      const fresh = `samplers-${++freshPlaces + 1}`;
      log.warn({ source: stuck, thread: place, to: fresh }, `${stuck} blocks its thread: the other samplers move on`);
      for (const [source] of neighbours) {
        places.set(source, fresh);
        threads.move(source, fresh);
      }
    }
  }

  function onObserved(observation: Observation): void {
    const { source } = observation;
    // A late answer counts for the tick in which it comes: the samples of the ticks between were refused, so that no
    // other answer is due, and the next tick would take a sampler that has just come back for a silent one.
    heard.set(source, tick);
    if (silent.delete(source)) log.info({ source, tick: observation.tick }, `${source} is sampled again`);
    noteFailure(observation);
    cache.tell(observation);
    if (refreshedTick < tick && seats.every((seat) => heard.get(seat.source) === tick)) endRefresh(tick);
    if (firstRefreshAnswers !== null && seats.every((seat) => heard.has(seat.source))) endFirstRefresh();
  }

  /** A source that cannot be read is logged when that begins and when it ends, not at each sample. */
  function noteFailure({ source, failed, readings, tick: sampled }: Observation): void {
    if (failed === failing.has(source)) return;
    if (!failed) {
      failing.delete(source);
      log.info({ source, tick: sampled }, `${source} can be read again`);
      return;
    }
    failing.add(source);
    const why = readings.filter(({ ratio }) => ratio === null).map((reading) => `${reading.from}: ${reading.why}`);
    log.warn({ source, tick: sampled, why }, `${source} cannot be read in full: ${why[0]}`);
  }

  function onFirstRefresh(answer: () => void): void {
    if (firstRefreshAnswers === null) answer();
    else firstRefreshAnswers.push(answer);
  }

  function endFirstRefresh(): void {
    firstDeadline.cancel();
    const waiting = firstRefreshAnswers ?? [];
    firstRefreshAnswers = null;
    for (const answer of waiting) answer();
  }

  return {
    receive(message, answer) {
      switch (message.type) {
        case "observed":
          return onObserved(message);
        case "tick":
          return onTick();
        case "first_refresh_due":
          return endFirstRefresh();
        case "first_refresh":
          return onFirstRefresh(() => answer(null));
        default:
          return message satisfies never;
      }
    },
    stopped() {
      timer.cancel();
      firstDeadline.cancel();
    },
  };
}

/**
 * The wait for the next beat. Beats lie on multiples of the interval since the start, so that late timers do not add up
 * and those that a stall swallowed are skipped. A timer may also fire a little early; the next beat is never nearer
 * than half an interval, or the samplers would be asked twice and have no time to answer.
 */
export function untilNextBeatMs(elapsedMs: number, intervalMs: number): number {
  const untilMs = intervalMs - (elapsedMs % intervalMs);
  return untilMs < intervalMs / 2 ? untilMs + intervalMs : untilMs;
}
