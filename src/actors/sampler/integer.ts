/**
 * The kernel's decimal integers, exact beyond 2^53. Twenty digits hold every 64-bit value; more are not a number that
 * a kernel prints, and converting a megabyte of digits would take time quadratic in its length.
 */
const UNSIGNED = /^[0-9]{1,20}$/;
const SIGNED = /^-?[0-9]{1,20}$/;

/** The integer, or null where `text` is anything but 1 to 20 decimal digits. */
export function parseUnsigned(text: string): bigint | null {
  return UNSIGNED.test(text) ? BigInt(text) : null;
}

/** Like {@link parseUnsigned}, with an optional leading minus. */
export function parseSigned(text: string): bigint | null {
  return SIGNED.test(text) ? BigInt(text) : null;
}
