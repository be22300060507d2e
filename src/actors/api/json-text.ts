/**
 * What a JSON parser lets pass and this border does not: more values than anybody means to send, deep nesting, names that
 * stand twice in one object, and names by which a value reaches its prototype.
 */

/** The API nests 5 deep; the rest is room for fields that a newer caller sends. */
const DEPTH_MAX = 64;
/** Four times those of the most disks that one heartbeat lists; objects with more unknown names cost seconds to tidy. */
const MEMBERS_MAX = 20_000;
/** Twice the longest roster, so that one which is little too long is told so. */
const VALUES_MAX = 200_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;

export interface Shape {
  readonly depth: number;
  /** Name and value pairs, over all objects. */
  readonly members: number;
  /** At most as many values stand in the text, those of members and lists themselves included. */
  readonly values: number;
}

/** Whether the text nests deeper than anything that is meant. To be asked before it is parsed. */
export function nestsTooDeep(shape: Shape): boolean {
  return shape.depth > DEPTH_MAX;
}

/** What there is too much of, as `more than 200000 values`; null when there is not. To be asked before it is parsed. */
export function excessOf({ members, values }: Shape): string | null {
  if (members > MEMBERS_MAX) return `more than ${MEMBERS_MAX} names in its objects`;
  return values > VALUES_MAX ? `more than ${VALUES_MAX} values` : null;
}

/** One pass over the text, strings skipped; it ends where there is too much. Says something of valid JSON only. */
export function shapeOf(text: string): Shape {
  let depth = 0;
  let deepest = 0;
  let members = 0;
  let values = 1;
  for (let at = 0; at < text.length && values <= VALUES_MAX; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        break;
      case COLON:
        members += 1;
        break;
      case COMMA:
        values += 1;
        break;
      case 0x7b: // {
      case 0x5b: // [
        values += 1;
        depth += 1;
        deepest = Math.max(deepest, depth);
        break;
      case 0x7d: // }
      case 0x5d: // ]
        depth -= 1;
        break;
      default:
    }
  }
  return { depth: deepest, members, values };
}

function endOfString(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1);
  if (quote < 0) return text.length;
  if (text.charCodeAt(quote - 1) !== BACKSLASH) return quote;
  // Most strings escape nothing, and a search for the quote is the fastest; one that does may be made of escapes.
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}

/** Of what a text was parsed to. */
export interface Survey {
  readonly members: number;
  /** Whether `__proto__` is a name in it, or `prototype` one under `constructor`: copies of such reach past themselves. */
  readonly reachesPrototype: boolean;
}

/**
 * Fewer members than the text has: a name stands twice in one object. Parsers keep one of the two, and not all the same
 * one (RFC 8259, 4), so that what one of them checked another would not use.
 */
export function survey(parsed: unknown): Survey {
  // Not recursive: whoever asks has not made sure of the depth.
  const left: object[] = [];
  const visit = (value: unknown): void => {
    if (typeof value === "object" && value !== null) left.push(value);
  };
  visit(parsed);
  let members = 0;
  let reachesPrototype = false;
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    if (Array.isArray(value)) {
      for (const each of value) visit(each);
      continue;
    }
    // What a parser made has no other names than its own.
    for (const name in value) {
      const each = (value as Readonly<Record<string, unknown>>)[name];
      members += 1;
      reachesPrototype ||= name === "__proto__" || (name === "constructor" && hasPrototype(each));
      visit(each);
    }
  }
  return { members, reachesPrototype };
}

function hasPrototype(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "prototype");
}
