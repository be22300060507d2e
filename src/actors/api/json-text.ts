/** What a JSON parser lets pass and this border does not: names that stand twice in one object, and deep nesting. */

/** The API nests 5 deep; the rest is room for fields that a newer caller sends. */
const DEPTH_MAX = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

interface Shape {
  readonly depth: number;
  /** Name and value pairs, over all objects. */
  readonly members: number;
}

/** Whether the text nests deeper than anything that is meant. To be asked before it is parsed. */
export function nestsTooDeep(shape: Shape): boolean {
  return shape.depth > DEPTH_MAX;
}

/**
 * Whether a name stands twice in one object: parsers keep one of the two, and not all the same one (RFC 8259, 4), so that
 * what one of them checked another would not use. `parsed` is what became of the text.
 */
export function repeatsName(shape: Shape, parsed: unknown): boolean {
  return membersOf(parsed) !== shape.members;
}

/** One pass over the text, strings skipped. Says something of valid JSON only. */
export function shapeOf(text: string): Shape {
  let depth = 0;
  let deepest = 0;
  let members = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        break;
      case COLON:
        members += 1;
        break;
      case 0x7b: // {
      case 0x5b: // [
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
  return { depth: deepest, members };
}

function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
  return text.length;
}

/** Not recursive: whoever asks for the members has not made sure of the depth. */
function membersOf(parsed: unknown): number {
  const left: object[] = [];
  const visit = (value: unknown): void => {
    if (typeof value === "object" && value !== null) left.push(value);
  };
  visit(parsed);
  let members = 0;
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    if (Array.isArray(value)) {
      for (const each of value) visit(each);
      continue;
    }
    // What a parser made has no other names than its own.
    for (const name in value) {
      members += 1;
      visit((value as Readonly<Record<string, unknown>>)[name]);
    }
  }
  return members;
}
