/** Amounts as people write them in flags and files: byte sizes such as `4GiB`, counts, CPUs and shares. */
import { z } from "zod";
import { refuse, show } from "./settings.ts";

const UNIT_BYTES = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 } as const;

export const BYTE_SIZE_FORM = "a size such as 512MiB, 4GiB or 1.5TiB";

/** Whole bytes; null when the text is no size. A bare number is refused: nobody can tell its unit. */
export function parseByteSize(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?) ?(B|KiB|MiB|GiB|TiB)$/.exec(text.trim());
  if (match === null) return null;
  const [, amount, unit] = match;
  const bytes = Math.round(Number(amount) * UNIT_BYTES[unit as keyof typeof UNIT_BYTES]);
  return Number.isSafeInteger(bytes) ? bytes : null;
}

/** A positive size, as bytes. `multipleOf`, in bytes, is what it must be a whole number of. */
export function byteSize(multipleOf = 1): z.ZodType<number, unknown> {
  return z.unknown().transform((given, context) => {
    const bytes = typeof given === "string" ? parseByteSize(given) : null;
    if (bytes === null || bytes === 0) return refuse(context, `${show(given)} is not ${BYTE_SIZE_FORM}`);
    if (bytes % multipleOf !== 0) return refuse(context, `${show(given)} is not a whole number of ${multipleOf} bytes`);
    return bytes;
  });
}

/** An integer within two bounds. */
export function countBetween(least: number, most: number): z.ZodType<number, unknown> {
  return z.unknown().transform((given, context) => {
    const number = numberOf(given);
    if (number !== null && Number.isInteger(number) && number >= least && number <= most) return number;
    return refuse(context, `${show(given)} is not a whole number from ${least} to ${most}`);
  });
}

/** A number of CPUs, down to a thousandth of one, as whole millicores. */
export const cpuAmount: z.ZodType<number, unknown> = z.unknown().transform((given, context) => {
  const millicores = (numberOf(given) ?? 0) * 1000;
  // 0.1 × 3 and the like are not exact in binary; a millionth of a millicore is nobody's request.
  const whole = Math.round(millicores);
  if (whole >= 1 && Math.abs(millicores - whole) < 1e-6 && Number.isSafeInteger(whole)) return whole;
  return refuse(context, `${show(given)} is not a number of CPUs, such as 2 or 0.5, of at least 0.001`);
});

/** A number from 0 to 1. */
export const share: z.ZodType<number, unknown> = z.unknown().transform((given, context) => {
  const number = numberOf(given);
  if (number !== null && number >= 0 && number <= 1) return number;
  return refuse(context, `${show(given)} is not a share from 0 to 1`);
});

/** A finite number, from a file or in decimal; null for anything else. */
function numberOf(given: unknown): number | null {
  if (typeof given === "number") return Number.isFinite(given) ? given : null;
  return typeof given === "string" && /^\d+(\.\d+)?$/.test(given.trim()) ? Number(given) : null;
}
