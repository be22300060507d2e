/**
 * The bearer tokens (RFC 6750) that are in force, and who presents one. The file has one line for each:
 *
 * ```
 * # kind    node id (optional, for node)   token, or sha256: and its hash in hex
 * client                                   sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae
 * node      node-17                        sha256:fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9
 * operator                                 ek_mFzQ0Ckyq7UN0Y3iCq2E5w
 * ```
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { isBearerToken } from "../../messages/bearer-token.ts";
import { ANYBODY, type Caller, TOKEN_KINDS, type TokenKind } from "../../messages/callers.ts";
import { type Refusal, refuse } from "../../messages/errors.ts";

/** Fewer characters can be guessed, or found from a hash that got out. */
const TOKEN_LENGTH_MIN = 16;
const TOKEN_LENGTH_MAX = 512;
const NODE_ID = /^[\x21-\x7e]{1,256}$/;
const HASH = /^sha256:([0-9a-f]{64})$/i;

interface Entry {
  /** No `Buffer`: to an API thread it crosses by structured clone, which makes plain bytes of one. */
  readonly hash: Uint8Array;
  readonly caller: Caller;
}

/** Tokens as they are kept: hashed, found by the first four bytes of their hashes. */
export type Tokens = ReadonlyMap<number, readonly Entry[]>;

export type ParsedTokens =
  | { readonly ok: true; readonly tokens: Tokens; readonly count: number }
  /** Names the line, and quotes nothing of it. */
  | { readonly ok: false; readonly message: string };

/** Reads a whole file of tokens. One wrong line is the whole file's refusal: half of a file would lock others out. */
export function parseTokens(text: string): ParsedTokens {
  const byPrefix = new Map<number, Entry[]>();
  let count = 0;
  for (const [index, line] of text.split("\n").entries()) {
    const fields = line.trim().split(/\s+/);
    if (fields[0] === "" || fields[0]?.startsWith("#")) continue;
    const entry = entryOf(fields);
    if (typeof entry === "string") return { ok: false, message: `line ${index + 1}: ${entry}` };
    const others = byPrefix.get(prefixOf(entry.hash)) ?? [];
    if (others.some(({ hash }) => entry.hash.equals(hash))) {
      return { ok: false, message: `line ${index + 1}: the token stands in an earlier line already` };
    }
    byPrefix.set(prefixOf(entry.hash), [...others, entry]);
    count += 1;
  }
  if (count === 0) return { ok: false, message: "it holds no token, so that nobody could call" };
  return { ok: true, tokens: byPrefix, count };
}

function entryOf(fields: readonly string[]): (Entry & { readonly hash: Buffer }) | string {
  const [kind, ...rest] = fields;
  const secret = rest.at(-1);
  if (!isKind(kind)) return `begins with none of ${TOKEN_KINDS.join(", ")}`;
  if (secret === undefined) return "has no token";
  if (rest.length > (kind === "node" ? 2 : 1)) return "has too many fields";
  const nodeId = rest.length === 2 ? (rest[0] ?? "") : null;
  if (nodeId !== null && !NODE_ID.test(nodeId)) return "names no valid node id";
  const hash = hashGiven(secret);
  if (typeof hash === "string") return hash;
  return { hash, caller: { kind, nodeId, credential: credentialOf(hash) } };
}

function isKind(word: string | undefined): word is TokenKind {
  return TOKEN_KINDS.some((kind) => kind === word);
}

function hashGiven(secret: string): Buffer | string {
  const [, hex] = HASH.exec(secret) ?? [];
  if (hex !== undefined) return Buffer.from(hex, "hex");
  if (secret.includes(":")) return "has a hash that is not sha256: and 64 hex digits";
  if (!isBearerToken(secret)) return "has a token with other characters than letters, digits and -._~+/=";
  if (secret.length < TOKEN_LENGTH_MIN || secret.length > TOKEN_LENGTH_MAX) {
    return `has a token that is not ${TOKEN_LENGTH_MIN} to ${TOKEN_LENGTH_MAX} characters long`;
  }
  return hashOf(secret);
}

export function hashOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

function prefixOf(hash: Buffer): number {
  return hash.readUInt32BE(0);
}

/** Hashed once more, so that a journal of request ids does not hold what a file of tokens does. */
function credentialOf(hash: Buffer): string {
  return `tk_${createHash("sha256").update("credential").update(hash).digest("hex").slice(0, 32)}`;
}

export type Admission =
  | { readonly ok: true; readonly caller: Caller }
  | { readonly ok: false; readonly refusal: Refusal };

/** Asks who calls. */
export interface Gate {
  /** `authorization` is the header's or the metadata's value; undefined when there is none. */
  admit(authorization: string | undefined): Admission;
}

/** Without tokens in force everybody may do everything. */
export const openGate: Gate = { admit: () => ({ ok: true, caller: ANYBODY }) };

/** A gate whose tokens can be exchanged while it stands. */
export class TokenGate implements Gate {
  #tokens: Tokens;
  readonly #followers: (() => void)[] = [];

  constructor(tokens: Tokens) {
    this.#tokens = tokens;
  }

  get tokens(): Tokens {
    return this.#tokens;
  }

  use(tokens: Tokens): void {
    this.#tokens = tokens;
    for (const follow of this.#followers) follow();
  }

  /** Calls `follow` whenever other tokens have come into force. */
  onChange(follow: () => void): void {
    this.#followers.push(follow);
  }

  admit(authorization: string | undefined): Admission {
    if (authorization === undefined) return MISSING;
    const [, token] = /^Bearer +(\S+) *$/i.exec(authorization) ?? [];
    if (token === undefined || token.length > TOKEN_LENGTH_MAX) return MISSING;
    const hash = hashOf(token);
    // Which prefixes exist can be told by time, and says nothing of a token: nobody can choose what hashes begin with
    // beyond trying, and the comparison that decides takes the same time wherever the two differ.
    for (const entry of this.#tokens.get(prefixOf(hash)) ?? []) {
      if (timingSafeEqual(entry.hash, hash)) return { ok: true, caller: entry.caller };
    }
    return UNKNOWN;
  }
}

const MISSING: Admission = {
  ok: false,
  refusal: refuse("unauthenticated", "send a token: Authorization: Bearer TOKEN", {}),
};
const UNKNOWN: Admission = { ok: false, refusal: refuse("unauthenticated", "the token is not one in force", {}) };
