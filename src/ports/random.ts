import { randomBytes } from "node:crypto";

/** Chance, as the actors see it: passed in, so that one seed makes a whole run. */
export interface Random {
  /** A double in [0, 1). For jitter and for picking, not for secrets. */
  fraction(): number;
  /** `count` bytes fit for secrets. */
  bytes(count: number): Uint8Array;
}

export const systemRandom: Random = {
  fraction: () => Math.random(),
  bytes: (count) => randomBytes(count),
};

/**
 * The same stream for the same seed, on every machine. Not fit for secrets.
 *
 * The generator is the 32-bit xorshift of G. Marsaglia, "Xorshift RNGs" (2003), with the shifts 13, 17, 5.
 */
export function seededRandom(seed: number): Random {
  // Xorshift has one fixed point, 0; scrambling keeps neighbouring seeds from starting out alike.
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0 || 1;
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state;
  };
  for (let warmUp = 0; warmUp < 8; warmUp++) next();
  return {
    fraction: () => next() / 2 ** 32,
    bytes: (count) => Uint8Array.from({ length: count }, () => next() & 0xff),
  };
}
