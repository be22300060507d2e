/** Names for reservations: a secret token for its caller and a public id for everybody else. */
import type { Random } from "../../../ports/random.ts";

// 144 bits each, above the 128 that a token must have; a multiple of 3 bytes encodes without a remainder.
const NAME_BYTES = 18;
// One call for secure bytes costs more than a whole selection; a block of 4 KiB spreads it over a hundred.
const BLOCK_BYTES = NAME_BYTES * 228;

export interface NameMint {
  /** `rt_` and 24 URL-safe characters (RFC 4648, section 5). Secret; logs carry its first 8 characters. */
  token(): string;
  /** `rs_` and 24 URL-safe characters. Unguessable too, though nothing depends on that. */
  id(): string;
}

export function createNameMint(random: Random): NameMint {
  let block = Buffer.alloc(0);
  let used = 0;
  const next = (): string => {
    if (used + NAME_BYTES > block.length) {
      block = Buffer.from(random.bytes(BLOCK_BYTES));
      used = 0;
    }
    const name = block.toString("base64url", used, used + NAME_BYTES);
    // A name that has been handed out must not be readable from a later heap dump of the block.
    block.fill(0, used, used + NAME_BYTES);
    used += NAME_BYTES;
    return name;
  };
  return { token: () => `rt_${next()}`, id: () => `rs_${next()}` };
}

export function isToken(handle: string): boolean {
  return handle.startsWith("rt_");
}
