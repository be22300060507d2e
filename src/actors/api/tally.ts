/**
 * Counters and histograms of what happens thousands of times a second. Their series are plain numbers, which prom-client
 * is given when somebody looks: through it each increment takes 0.3 µs and each observation 0.4 µs, of calls that take 30.
 */
import { Counter, type CounterConfiguration, type Histogram, type Registry } from "prom-client";

/** One series of a tallied counter. */
export interface Tally {
  add(): void;
}

type Labels<Label extends string> = Readonly<Record<Label, string>>;

export class TallyCounter<Label extends string> {
  readonly #series: { readonly labels: Labels<Label>; pending: number }[] = [];

  constructor(options: Omit<CounterConfiguration<Label>, "collect">) {
    const series = this.#series;
    new Counter<Label>({
      ...options,
      collect() {
        for (const each of series) {
          this.inc(each.labels, each.pending);
          each.pending = 0;
        }
      },
    });
  }

  /** A series, shown from now on even at 0. Each is to be made once. */
  series(labels: Labels<Label>): Tally {
    const made = { labels, pending: 0 };
    this.#series.push(made);
    return {
      add: () => {
        made.pending += 1;
      },
    };
  }
}

export interface TallyHistogramOptions {
  readonly name: string;
  readonly help: string;
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[];
  readonly registry: Registry;
}

/** One series of a tallied histogram. */
export class Observations {
  readonly #bounds: readonly number[];
  /** How many fell into each bucket, and behind them those above the last bound. */
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let bucket = 0;
    // What is measured falls into the first few.
    while (value > (this.#bounds[bucket] ?? Number.POSITIVE_INFINITY)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += value;
  }

  get sum(): number {
    return this.#sum;
  }

  /** How many are at most as great as each bound; the last of them is the number of all. */
  cumulative(): number[] {
    let total = 0;
    return Array.from(this.#counts, (count) => {
      total += count;
      return total;
    });
  }
}

/** prom-client's registry asks a metric for no more than its values. */
interface Shown {
  readonly name: string;
  readonly help: string;
  readonly type: "histogram";
  readonly values: readonly { readonly metricName: string; readonly labels: object; readonly value: number }[];
}

export class TallyHistogram<Label extends string> {
  readonly #options: TallyHistogramOptions;
  readonly #series: { readonly labels: Labels<Label>; readonly observations: Observations }[] = [];

  constructor(options: TallyHistogramOptions) {
    this.#options = options;
    const { name } = options;
    options.registry.registerMetric({ name, get: async () => this.#show() } as unknown as Histogram);
  }

  /** A series, shown from now on even when it is empty. Each is to be made once. */
  series(labels: Labels<Label>): Observations {
    const observations = new Observations(this.#options.buckets);
    this.#series.push({ labels, observations });
    return observations;
  }

  #show(): Shown {
    const { name, help, buckets } = this.#options;
    const values = this.#series.flatMap(({ labels, observations }) => {
      const counts = observations.cumulative();
      return [
        ...counts.map((value, bucket) => {
          const le = buckets[bucket] ?? "+Inf";
          return { metricName: `${name}_bucket`, labels: { le, ...labels }, value };
        }),
        { metricName: `${name}_sum`, labels, value: observations.sum },
        { metricName: `${name}_count`, labels, value: counts.at(-1) ?? 0 },
      ];
    });
    return { name, help, type: "histogram", values };
  }
}
