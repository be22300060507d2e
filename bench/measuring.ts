/** What every benchmark does alike: rounds in alternating order, medians, and the line of figures at the end. */
import { cpus } from "node:os";
import { renderTable } from "../src/programs/table.ts";

/** The middle of the values; the mean of the two middle ones where their number is even. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

/** Nearest rank. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.ceil((percent / 100) * sorted.length) - 1] ?? Number.NaN;
}

export interface Contender<Round> {
  readonly name: string;
  readonly round: () => Round | Promise<Round>;
}

/**
 * Runs every contender once per round, the first one moving on by one each time, so that whatever drifts on the machine
 * meets all alike. The first `warmUps` rounds are not counted.
 */
export async function inTurns<Round>(
  contenders: readonly Contender<Round>[],
  { rounds, warmUps }: { readonly rounds: number; readonly warmUps: number },
): Promise<Map<string, Round[]>> {
  const results = new Map<string, Round[]>(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round < warmUps + rounds; round++) {
    for (let turn = 0; turn < contenders.length; turn++) {
      const contender = contenders[(round + turn) % contenders.length];
      if (contender === undefined) continue;
      const result = await contender.round();
      if (round >= warmUps) results.get(contender.name)?.push(result);
    }
  }
  return results;
}

export interface Report {
  /** The workload, as it stands in the header of the output. */
  readonly workload: readonly string[];
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** The last line: `name key=value …`. */
  readonly figures: Readonly<Record<string, string | number>>;
}

export function print(name: string, { workload, header, rows, figures }: Report): void {
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? "unknown CPU"}, Node ${process.version}`;
  const line = Object.entries(figures).map(([key, value]) => `${key}=${value}`);
  process.stdout.write(
    `${[name, machine, ...workload].join("\n")}\n\n${renderTable(header, rows)}\n${name} ${line.join(" ")}\n`,
  );
}
