/** What a create's body says of the sandbox. The body belongs to the node: whatever is odd here is left out, not refused. */
import type { CreateKind } from "./routes.ts";

/**
 * As much of a body as is read for its hint, in bytes. Real ones are a few kilobytes; what is read stays in memory until
 * the node has answered, so that it can be sent again.
 */
export const HINT_BYTES_MAX = 64 * 2 ** 10;

/** The scheduler takes bodies up to 64 KiB: room for the rest of the request is left. */
const HINT_JSON_BYTES_MAX = 48 * 2 ** 10;
const CPU_COUNT_MAX = 2 ** 32 - 1;
/** The scheduler's own bound, 8 PiB: beyond it a number of MiB has no exact number of bytes. */
const MEMORY_MIB_MAX = 2 ** 33 - 1;

export interface Demand {
  readonly cpu_count?: number;
  readonly memory_mb?: number;
  readonly images?: string[];
  readonly metadata?: Record<string, string>;
}

/** The `hint` of a schedule call; exactly one of the two is set. */
export interface Hint {
  readonly new_cold_sandbox?: Demand;
  /** Without images: the template has them. */
  readonly new_sandbox?: Demand;
}

/** `body` is null when it was too long to be read whole: the kind is then all that is known. */
export function hintOf(create: CreateKind, body: Uint8Array | null): Hint {
  const { images, ...rest } = body === null ? {} : demandOf(parseObject(body));
  if (create === "new_sandbox") return { new_sandbox: bounded(rest) };
  return { new_cold_sandbox: bounded(images === undefined ? rest : { ...rest, images }) };
}

function demandOf(body: Readonly<Record<string, unknown>>): Demand {
  const cpuCount = countUpTo(CPU_COUNT_MAX, body.cpuCount);
  const memoryMib = countUpTo(MEMORY_MIB_MAX, body.memoryMB);
  const images = imagesOf(body);
  const metadata = metadataOf(body.metadata);
  return {
    ...(cpuCount === undefined ? {} : { cpu_count: cpuCount }),
    ...(memoryMib === undefined ? {} : { memory_mb: memoryMib }),
    ...(images.length === 0 ? {} : { images }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}

/** Images and metadata rank nothing yet: a long list of them must not cost the request its demand. */
function bounded(demand: Demand): Demand {
  if (Buffer.byteLength(JSON.stringify(demand)) <= HINT_JSON_BYTES_MAX) return demand;
  const { metadata: _metadata, images: _images, ...amounts } = demand;
  return amounts;
}

function countUpTo(most: number, given: unknown): number | undefined {
  return typeof given === "number" && Number.isInteger(given) && given >= 0 && given <= most ? given : undefined;
}

/** The root image first, then those of attached drives. */
function imagesOf(body: Readonly<Record<string, unknown>>): string[] {
  const drives = Array.isArray(body.attachedDrives) ? (body.attachedDrives as unknown[]) : [];
  return [body.image, ...drives.map((drive) => asObject(asObject(drive).source).image)].filter(
    (image) => typeof image === "string" && image !== "",
  ) as string[];
}

function metadataOf(given: unknown): Record<string, string> | undefined {
  // The scheduler refuses a body with this key whole.
  const entries = Object.entries(asObject(given)).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string" && entry[0] !== "__proto__",
  );
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function parseObject(body: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    return asObject(JSON.parse(Buffer.from(body).toString("utf8")));
  } catch {
    return {};
  }
}

function asObject(given: unknown): Readonly<Record<string, unknown>> {
  return typeof given === "object" && given !== null && !Array.isArray(given) ? (given as Record<string, unknown>) : {};
}
