/**
 * Names for reservations: a public id for everybody, and for its caller a token, which is the id's name with a secret
 * behind it. All characters are URL-safe (base64url, RFC 4648, section 5).
 *
 * ```
 *  rs_ rrrrrrrrrr nnnnnnn                            r: random, n: number in the order of making
 *  rt_ rrrrrrrrrr nnnnnnn ssssssssssssssssssssssss   s: secret
 * ```
 *
 * So either leads to its reservation by the number, without a search, and only the rest is left to compare.
 */
import type { Random } from "../../../ports/random.ts";

export interface Names {
  readonly id: string;
  /** Secret. Logs carry its first 8 characters, which say no more than the id does. */
  readonly token: string;
}

/** Of a text that is no name. */
export const NO_NUMBER = -1;

// In bytes, 3 of which are 4 characters: no name begins or ends within one.
const ID_BYTES = 15;
const SECRET_BYTES = 18;
const TOKEN_BYTES = ID_BYTES + SECRET_BYTES;
const NAME_BYTES = ID_BYTES + TOKEN_BYTES;
/** The number takes the last 42 bits of the id. At 10 000 reservations a second they last for 13 years. */
const NUMBER_BYTES_AT = 9;
/** After the last they begin anew. */
const NUMBERS = 2 ** 42;
/** Of the first byte that the number is written to; the bits above it stay random, 60 in all. */
const RANDOM_BITS_ABOVE = 0b1111_1100;

const ID_LENGTH = (ID_BYTES * 4) / 3;
const TOKEN_LENGTH = (TOKEN_BYTES * 4) / 3;
const NUMBER_LENGTH = 7;
const NUMBER_AT = ID_LENGTH - NUMBER_LENGTH;
/** Where its last five digits begin. */
const LOW_DIGITS_AT = ID_LENGTH - 5;

/** Every prefix is base64url itself: its 18 bits are written before encoding, so that a name is one slice of a block. */
const ID_PREFIX = Buffer.from("rs_A", "base64url");
const TOKEN_PREFIX = Buffer.from("rt_A", "base64url");
/** Bits of its third byte that belong to the prefix. */
const PREFIX_BITS_LAST = 0b1100_0000;

// One call for secure bytes, and one to encode them, cost more than a whole selection: a block spreads both over many.
const NAMES_PER_BLOCK = 256;

const DIGITS = Int8Array.from({ length: 128 }, (_, code) =>
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".indexOf(String.fromCharCode(code)),
);

/** Makes names, numbered upwards. Numbers of names that were made in advance and not used are left out. */
export class NameMint {
  readonly #random: Random;
  #block = "";
  #used = 0;
  #nextNumber = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  next(): Names {
    if (this.#used >= this.#block.length) this.#makeBlock();
    const tokenAt = this.#used + ID_LENGTH;
    const end = tokenAt + TOKEN_LENGTH;
    const names = { id: this.#block.substring(this.#used, tokenAt), token: this.#block.substring(tokenAt, end) };
    this.#used = end;
    return names;
  }

  /** Numbers go on behind this one. */
  continueAfter(number: number): void {
    this.#nextNumber = Math.max(this.#nextNumber, number + 1) % NUMBERS;
    this.#used = this.#block.length;
  }

  #makeBlock(): void {
    const random = this.#random.bytes(NAMES_PER_BLOCK * NAME_BYTES);
    const bytes = Buffer.from(random.buffer, random.byteOffset, random.length);
    for (let at = 0; at < bytes.length; at += NAME_BYTES) {
      writePrefix(bytes, at, ID_PREFIX);
      writeNumber(bytes, at + NUMBER_BYTES_AT, this.#nextNumber);
      this.#nextNumber = (this.#nextNumber + 1) % NUMBERS;
      // One by one: a call that moves fifteen bytes costs more than they do.
      for (let index = 0; index < ID_BYTES; index++) bytes[at + ID_BYTES + index] = bytes[at + index] ?? 0;
      writePrefix(bytes, at + ID_BYTES, TOKEN_PREFIX);
    }
    this.#block = bytes.toString("base64url");
    this.#used = 0;
  }
}

/** Big-endian, into the last 42 of the 48 bits there. */
function writeNumber(bytes: Buffer, at: number, number: number): void {
  const high = Math.floor(number / 2 ** 32);
  bytes[at] = ((bytes[at] ?? 0) & RANDOM_BITS_ABOVE) | (high >>> 8);
  bytes[at + 1] = high;
  bytes[at + 2] = number >>> 24;
  bytes[at + 3] = number >>> 16;
  bytes[at + 4] = number >>> 8;
  bytes[at + 5] = number;
}

function writePrefix(bytes: Buffer, at: number, prefix: Buffer): void {
  bytes[at] = prefix[0] ?? 0;
  bytes[at + 1] = prefix[1] ?? 0;
  bytes[at + 2] = (prefix[2] ?? 0) | ((bytes[at + 2] ?? 0) & ~PREFIX_BITS_LAST);
}

export function isToken(handle: string): boolean {
  return handle.startsWith("rt_");
}

/** The number in an id or a token; `NO_NUMBER` where there is none. */
export function numberOf(handle: string): number {
  if (handle.length < ID_LENGTH) return NO_NUMBER;
  const high = digitsOf(handle, NUMBER_AT, LOW_DIGITS_AT);
  const low = digitsOf(handle, LOW_DIGITS_AT, ID_LENGTH);
  return high < 0 || low < 0 ? NO_NUMBER : high * 2 ** 30 + low;
}

/** Up to five digits, 30 bits, so that integers do; negative where one is none. */
function digitsOf(text: string, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at++) {
    const digit = DIGITS[text.charCodeAt(at)] ?? NO_NUMBER;
    if (digit < 0) return NO_NUMBER;
    value = (value << 6) | digit;
  }
  return value;
}

/** Takes equally long wherever they differ, so that nobody can find a token character by character. */
export function isSameToken(left: string, right: string): boolean {
  if (left.length !== right.length) return false;
  let difference = 0;
  for (let at = 0; at < left.length; at++) difference |= left.charCodeAt(at) ^ right.charCodeAt(at);
  return difference === 0;
}
