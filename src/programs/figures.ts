/** Figures as people read them. */

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] as const;

/** Bytes in the largest binary unit that leaves at least 1, with one decimal where it is not whole: `1.5 GiB`. */
export function formatBytes(bytes: bigint | number): string {
  let amount = Number(bytes);
  let unit = 0;
  while (amount >= 1024 && unit < UNITS.length - 1) {
    amount /= 1024;
    unit++;
  }
  return `${Number.isInteger(amount) ? amount : amount.toFixed(1)} ${UNITS[unit]}`;
}

/** Millicores as CPUs: `1.5 CPUs`. */
export function formatCores(millicores: number): string {
  return `${millicores / 1000} ${millicores === 1000 ? "CPU" : "CPUs"}`;
}

/** A fraction as a percentage with one decimal. */
export function formatRatio(ratio: number): string {
  return `${(ratio * 100).toFixed(1)} %`;
}

/** A time span to the second below a minute, and to two units above: `42 s`, `3 min 5 s`, `2 h 7 min`. Never negative. */
export function formatSpan(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const [large, small, unit, below] =
    seconds < 3600
      ? [Math.floor(seconds / 60), seconds % 60, "min", "s"]
      : [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), "h", "min"];
  return small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${below}`;
}
