/**
 * Checks of single fields of what came over gRPC. A wrong one is a refusal that names the field as the .proto does, and
 * never quotes what was sent: it may be a secret, or nothing that a header can carry.
 */
import { type Refusal, refuse } from "../../../messages/errors.ts";

/** A refusal on its way from a check to the server. */
export class CallRefused extends Error {
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/** That of a field. */
export class BorderRefusal extends CallRefused {
  constructor(field: string, due: string) {
    super(refuse("invalid_argument", `${field} ${due}`, { field }));
  }
}

const IDENTIFIER = /^[\x21-\x7e]{1,256}$/;

/** The name of a node, sandbox, instance or request. */
export function identifier(value: string, field: string): string {
  if (IDENTIFIER.test(value)) return value;
  const due = "1 to 256 printable ASCII characters without blanks";
  throw new BorderRefusal(field, value === "" ? `is missing; it must be ${due}` : `must be ${due}`);
}

/** An identifier, or null where it was left out. */
export function identifierOrNull(value: string, field: string): string | null {
  return value === "" ? null : identifier(value, field);
}

/** Any text of at most so many characters. */
export function textUpTo(value: string, field: string, lengthMax: number): string {
  if (value.length <= lengthMax) return value;
  throw new BorderRefusal(field, `must be a text of at most ${lengthMax} characters`);
}

/** Such a text that is not empty. */
export function namedText(value: string, field: string, lengthMax: number): string {
  if (value === "") throw new BorderRefusal(field, "is missing");
  return textUpTo(value, field, lengthMax);
}

/** An amount that is counted with: sums are exact up to 2^53 − 1. */
export function exactAmount(value: bigint, field: string, most = Number.MAX_SAFE_INTEGER): number {
  if (value <= BigInt(most)) return Number(value);
  throw new BorderRefusal(field, `must be an integer from 0 to ${most}`);
}

/** A figure that is only shown or compared: what is beyond ±(2^53 − 1) is taken for that. */
export function nearestFigure(value: bigint): number {
  return Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number(value), Number.MAX_SAFE_INTEGER));
}

/** A list of at most so many. */
export function listUpTo<Item>(items: readonly Item[], field: string, countMax: number): readonly Item[] {
  if (items.length <= countMax) return items;
  throw new BorderRefusal(field, `must list at most ${countMax}`);
}

/** A part of a message that must be there. */
export function part<Value>(value: Value | undefined, field: string): Value {
  if (value === undefined) throw new BorderRefusal(field, "is missing");
  return value;
}
