/** The id of the sandbox that a 2xx answer tells of. */
import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import type { Headers } from "./headers.ts";
import { isSandboxId, SANDBOX_ID_HEADERS } from "./routes.ts";

/**
 * As much of an answer as is held back to find the id in it, in bytes. The answer to a create is a small object; the
 * client waits until its end has come, because the confirm goes first.
 */
export const ANSWER_BYTES_MAX = 64 * 2 ** 10;
/** Of a compressed one, so that a few bytes cannot become gigabytes. */
const UNPACKED_BYTES_MAX = 1024 * 2 ** 10;

const FIELDS = ["sandboxID", "sandboxId", "sandbox_id", "id"] as const;

const UNPACK: Readonly<Record<string, (body: Uint8Array, options: { maxOutputLength: number }) => Buffer>> = {
  gzip: gunzipSync,
  "x-gzip": gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
};

/** Null when the headers name none. */
export function sandboxIdInHeaders(headers: Headers): string | null {
  for (const name of SANDBOX_ID_HEADERS) {
    const value = headers[name];
    if (isSandboxId(value)) return value;
  }
  return null;
}

/** Null when the body is no JSON object with an id. */
export function sandboxIdInBody(body: Uint8Array, contentEncoding: string | undefined): string | null {
  try {
    const parsed: unknown = JSON.parse(unpack(body, contentEncoding).toString("utf8"));
    if (typeof parsed !== "object" || parsed === null) return null;
    const fields = parsed as Readonly<Record<string, unknown>>;
    for (const field of FIELDS) if (isSandboxId(fields[field])) return fields[field];
    return null;
  } catch {
    return null;
  }
}

function unpack(body: Uint8Array, contentEncoding: string | undefined): Buffer {
  const encoding = (contentEncoding ?? "identity").trim().toLowerCase();
  return UNPACK[encoding]?.(body, { maxOutputLength: UNPACKED_BYTES_MAX }) ?? Buffer.from(body);
}
