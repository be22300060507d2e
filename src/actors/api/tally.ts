import { Counter, type CounterConfiguration } from "prom-client";

/** One series of a tallied counter. */
export interface Tally {
  add(): void;
}

/**
 * A counter of what happens thousands of times a second: its series are plain numbers, handed to prom-client when
 * somebody looks. Through prom-client each increment is 0.3 µs of a call that takes 40.
 */
export class TallyCounter<Label extends string> {
  readonly #series: { readonly labels: Readonly<Record<Label, string>>; pending: number }[] = [];

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
  series(labels: Readonly<Record<Label, string>>): Tally {
    const made = { labels, pending: 0 };
    this.#series.push(made);
    return {
      add: () => {
        made.pending += 1;
      },
    };
  }
}
