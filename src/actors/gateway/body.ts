/** Bodies that are looked into before they are passed on, without a byte of them changing. */
import { Readable } from "node:stream";

/** The beginning of a body, and what is still to come of it. */
export interface Beginning {
  readonly bytes: Buffer;
  /** Null when `bytes` is all of it; only then can it be sent more than once. */
  readonly rest: AsyncIterator<Uint8Array> | null;
}

/** Reads until the body ends or more than `bytesMax` have come. Rejects as the stream does. */
export async function readBeginning(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Beginning> {
  // Not `for await`: leaving one destroys the stream.
  const iterator = body[Symbol.asyncIterator]();
  const chunks: Uint8Array[] = [];
  let length = 0;
  while (length <= bytesMax) {
    const next = await iterator.next();
    if (next.done === true) return { bytes: Buffer.concat(chunks), rest: null };
    chunks.push(next.value);
    length += next.value.byteLength;
  }
  return { bytes: Buffer.concat(chunks), rest: iterator };
}

/** The whole body again: as bytes where it has ended, else as a stream that can be read once. */
export function rejoin({ bytes, rest }: Beginning): Buffer | Readable {
  if (rest === null) return bytes;
  return Readable.from(follow(bytes, rest), { objectMode: false, highWaterMark: 64 * 2 ** 10 });
}

async function* follow(bytes: Buffer, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    if (bytes.length > 0) yield bytes;
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
  } finally {
    // Nobody reads on: the source may stop sending.
    await rest.return?.();
  }
}
