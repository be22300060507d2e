/**
 * Names for reservations: a public id for everybody, and for its caller a token, which is the id's name with a secret
 * behind it. So a token leads to its reservation by the id, and only the secret is left to compare.
 */
import type { Random } from "../../../ports/random.ts";

export interface Names {
  /** `rs_` and 12 URL-safe characters (RFC 4648, section 5). */
  readonly id: string;
  /** `rt_`, the same 12 and 24 more. Secret; logs carry its first 8 characters, which say no more than the id does. */
  readonly token: string;
}

export type NameMint = () => Names;

const PREFIX_LENGTH = 3;
// 72 bits: beside a hundred thousand remembered reservations, at a thousand a second, one is drawn again in a million years.
const PUBLIC_BYTES = 9;
// 144 bits, above the 128 that a token must have. Both are multiples of 3 bytes, which encode without a remainder.
const SECRET_BYTES = 18;
const PUBLIC_LENGTH = (PUBLIC_BYTES * 4) / 3;
const SECRET_LENGTH = (SECRET_BYTES * 4) / 3;
const ID_LENGTH = PREFIX_LENGTH + PUBLIC_LENGTH;
const TOKEN_LENGTH = ID_LENGTH + SECRET_LENGTH;
// One call for secure bytes, and one to encode them, cost more than a whole selection: a block spreads both over many.
const NAMES_PER_BLOCK = 128;
const BLOCK_BYTES = NAMES_PER_BLOCK * (PUBLIC_BYTES + SECRET_BYTES);
const EACH_NAME = new RegExp(`(.{${PUBLIC_LENGTH}})(.{${SECRET_LENGTH}})`, "g");

export function createNameMint(random: Random): NameMint {
  let block = "";
  let used = 0;
  return () => {
    if (used >= block.length) {
      const text = Buffer.from(random.bytes(BLOCK_BYTES)).toString("base64url");
      // Written out whole, so that each name is one slice of the block: a string made of parts is three that are kept.
      block = text.replace(EACH_NAME, "rs_$1rt_$1$2");
      used = 0;
    }
    const tokenAt = used + ID_LENGTH;
    const names = { id: block.slice(used, tokenAt), token: block.slice(tokenAt, tokenAt + TOKEN_LENGTH) };
    used = tokenAt + TOKEN_LENGTH;
    return names;
  };
}

export function isToken(handle: string): boolean {
  return handle.startsWith("rt_");
}

/** The id of the reservation that a token would be of. */
export function idOfToken(token: string): string {
  return `rs_${token.slice(PREFIX_LENGTH, PREFIX_LENGTH + PUBLIC_LENGTH)}`;
}

/** Takes equally long wherever they differ, so that nobody can find a token character by character. */
export function isSameToken(left: string, right: string): boolean {
  if (left.length !== right.length) return false;
  let difference = 0;
  for (let at = 0; at < left.length; at++) difference |= left.charCodeAt(at) ^ right.charCodeAt(at);
  return difference === 0;
}
