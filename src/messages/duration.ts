/** Durations as people write them: `250ms`, `5s`, `2m`, `1h`; fractions such as `1.5s` too. */

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;

export const DURATION_FORM = "a duration such as 250ms, 5s, 2m or 1h";

/** Milliseconds; null when the text is not a duration. A bare number is refused: nobody can tell its unit. */
export function parseDuration(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text.trim());
  if (match === null) return null;
  const [, amount, unit] = match;
  const ms = Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS];
  return Number.isSafeInteger(Math.round(ms)) ? ms : null;
}

/** The shortest exact form, in the largest unit that keeps it whole: 120000 → `2m`. */
export function formatDuration(ms: number): string {
  for (const unit of ["h", "m", "s"] as const)
    if (ms >= UNIT_MS[unit] && ms % UNIT_MS[unit] === 0) return `${ms / UNIT_MS[unit]}${unit}`;
  return `${ms}ms`;
}
