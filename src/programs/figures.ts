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
