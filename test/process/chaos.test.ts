import { expect, test } from "vitest";
import { systemClock } from "../../src/ports/clock.ts";
import { RunningProgram } from "./running-program.ts";

// More in `npm run test:chaos`; EVENKEEL_CHAOS_SEED repeats a run.
const KILLS = Number(process.env.EVENKEEL_CHAOS_KILLS ?? 10);
const SEED = process.env.EVENKEEL_CHAOS_SEED ?? String(Math.floor(systemClock.wallMs() / 1_000) % 1_000_000);

const LOAD = [
  ...["--confirm", "2", "--cancel", "7", "--abandon", "1", "--repeat", "0.2"],
  ...["--nodes", "20", "--node-cpu", "100", "--node-memory", "100GiB", "--cpu", "1", "--memory", "1GiB"],
  ...["--concurrency", "32", "--heartbeat-interval", "200ms", "--wait", "0ms", "--timeout", "1h"],
];

interface ChaosReport {
  readonly passed: boolean;
  readonly requests: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly audit: readonly { readonly invariant: string; readonly violations: number; readonly examples: string[] }[];
}

test(
  `killed ${KILLS} times under load, a scheduler holds what it has said (seed ${SEED})`,
  async () => {
    await using program = new RunningProgram(["load", "--chaos", String(KILLS), "--seed", SEED, "--json", ...LOAD]);
    const code = await program.ended();
    expect(program.stderr, program.stderr).toContain(`${KILLS} of ${KILLS} kills`);
    const report = JSON.parse(program.stdout) as ChaosReport;
    expect(report.audit.filter(({ violations }) => violations > 0)).toEqual([]);
    expect(report.audit.map(({ invariant }) => invariant)).toContain("promises_kept");
    expect(report.outcomes.confirmed).toBeGreaterThan(KILLS);
    expect(report.outcomes.unclear).toBeUndefined();
    expect([report.passed, code]).toEqual([true, 0]);
  },
  KILLS * 20_000 + 60_000,
);
