import { join } from "node:path";
import { parseUnsigned } from "./integer.ts";
import { readAndParse, VALUE_BYTES_MAX } from "./kernel-file.ts";
import { failed, found, none, type Outcome, quote } from "./outcome.ts";

/** A cgroup file that holds one count. */
export function readCgroupCount(directory: string, name: string): Outcome<bigint> {
  return readAndParse({ path: join(directory, name), bytesMax: VALUE_BYTES_MAX }, parseCount);
}

/** A cgroup file that holds one limit; `none` where it is `max` or the cgroup has no such file. */
export function readCgroupLimit(directory: string, name: string): Outcome<bigint> {
  return readAndParse({ path: join(directory, name), bytesMax: VALUE_BYTES_MAX }, parseLimit);
}

export function parseCount(text: string): Outcome<bigint> {
  const count = parseUnsigned(text.trim());
  return count === null ? failed(`not a count: ${quote(text)}`) : found(count);
}

export function parseLimit(text: string): Outcome<bigint> {
  return text.trim() === "max" ? none("the limit is max") : parseCount(text);
}
