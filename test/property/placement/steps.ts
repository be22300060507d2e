/** Random sequences as plain data, so that fast-check can shrink a failing one to the few steps that matter. */
import fc from "fast-check";

/** How often each step is drawn, relative to the others. */
const WEIGHTS = {
  schedule: 12,
  hintless: 2,
  repeat: 2,
  create: 10,
  createFails: 1,
  confirm: 8,
  confirmOther: 2,
  cancel: 3,
  renew: 1,
  uncertain: 4,
  undelivered: 1,
  look: 1,
  pass: 10,
  readSums: 2,
  report: 10,
  reportWithoutRoster: 1,
  reportWithoutCapacity: 1,
  lingering: 1,
  send: 4,
  deliver: 6,
  daemon: 5,
  delete: 4,
  release: 1,
  pause: 2,
  fork: 1,
  direct: 2,
  restart: 1,
  restartDaemon: 1,
  reboot: 1,
  resetCounters: 1,
  cordon: 1,
  uncordon: 2,
  clearCondition: 1,
  unregister: 1,
  tick: 2,
} as const;

export type StepKind = keyof typeof WEIGHTS;

/** The numbers choose, each as far as the kind has a choice: which node, which reservation, which shape. */
export interface Step {
  readonly kind: StepKind;
  readonly which: number;
  readonly what: number;
  readonly how: number;
}

const number = fc.nat(999);

export const step: fc.Arbitrary<Step> = fc.oneof(
  ...(Object.entries(WEIGHTS) as [StepKind, number][]).map(([kind, weight]) => ({
    weight,
    arbitrary: fc.record({ kind: fc.constant(kind), which: number, what: number, how: number }),
  })),
);

export function steps(most: number): fc.Arbitrary<Step[]> {
  return fc.array(step, { maxLength: most, minLength: 1, size: "max" });
}

/** More runs than a check before a commit wants, for a long look: EVENKEEL_PROPERTY_RUNS multiplies. */
export function runs(few: number): number {
  const factor = Number(process.env.EVENKEEL_PROPERTY_RUNS ?? "1");
  return Math.max(1, Math.round(few * factor));
}

/** The same sequences every time, unless EVENKEEL_PROPERTY_SEED names others. fast-check prints it on failure. */
export function seed(): number {
  return Number(process.env.EVENKEEL_PROPERTY_SEED ?? "20261130");
}
