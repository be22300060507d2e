import { spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, read, rmdirSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * A filesystem that the test itself answers for, over /dev/fuse: it has the block counts that the test wants, and its
 * statfs can be held for as long as the test wants, as an NFS server that went away does. Source: the kernel's
 * include/uapi/linux/fuse.h (protocol 7).
 */

const OPCODE = { lookup: 1, forget: 2, getattr: 3, statfs: 17, init: 26, interrupt: 36, batchForget: 42 } as const;
/** What a system call sleeps for. */
const WAITED_FOR: ReadonlySet<number> = new Set([OPCODE.lookup, OPCODE.getattr, OPCODE.statfs]);
/** Notices of the kernel, to which there is no reply. */
const UNANSWERED: ReadonlySet<number> = new Set([OPCODE.forget, OPCODE.batchForget, OPCODE.interrupt]);
const IN_HEADER_BYTES = 40;
const OUT_HEADER_BYTES = 16;
/** The kernel refuses a smaller buffer (FUSE_MIN_READ_BUFFER is 8 KiB, and more with larger writes). */
const REQUEST_BYTES_MAX = 256 * 1024;
const NO_SUCH_FILE = -2;
const NO_SUCH_SYSTEM_CALL = -38;
const DIRECTORY_MODE = 0o40755;

export interface BlockCounts {
  readonly blocks: bigint;
  readonly availableBlocks: bigint;
  readonly fragmentBytes: number;
}

/** Why such a filesystem cannot be had on this machine; null when it can. */
export function fuseUnavailable(): string | null {
  if (process.getuid?.() !== 0) return "mounting takes root";
  if (!existsSync("/dev/fuse")) return "there is no /dev/fuse";
  try {
    new FuseFilesystem({ blocks: 1n, availableBlocks: 1n, fragmentBytes: 1 })[Symbol.dispose]();
    return null;
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

export class FuseFilesystem implements Disposable {
  readonly path: string;
  counts: BlockCounts;
  /** Answers that wait to be given. */
  readonly #held: (() => void)[] = [];
  readonly #device: number;
  readonly #buffer = Buffer.alloc(REQUEST_BYTES_MAX);
  #holding: "nothing" | "statfs" | "everything" = "nothing";
  #closed = false;

  constructor(counts: BlockCounts) {
    this.counts = counts;
    this.path = mkdtempSync(join(tmpdir(), "evenkeel-fuse-"));
    this.#device = openSync("/dev/fuse", "r+");
    const options = `fd=3,rootmode=40000,user_id=0,group_id=0,allow_other`;
    const mount = spawnSync("mount", ["-i", "-t", "fuse", "-o", options, "evenkeel-test", this.path], {
      stdio: ["ignore", "ignore", "pipe", this.#device],
      encoding: "utf8",
    });
    if (mount.status !== 0) {
      closeSync(this.#device);
      rmdirSync(this.path);
      throw new Error(`mount -t fuse: ${mount.stderr ?? mount.error?.message}`);
    }
    this.#takeRequest();
  }

  /**
   * From now on statfs takes for ever: the caller's thread sleeps where not even SIGKILL wakes it. So whoever waits for
   * the caller's end must dispose of this first.
   */
  hold(): Disposable {
    return this.#hold("statfs");
  }

  /** From now on nothing below the mount point answers, opening a file included. */
  holdEverything(): Disposable {
    return this.#hold("everything");
  }

  get heldCount(): number {
    return this.#held.length;
  }

  /** Answers all that was held. */
  release(): void {
    this.#holding = "nothing";
    for (const answer of this.#held.splice(0)) answer();
  }

  [Symbol.dispose](): void {
    this.release();
    this.#closed = true;
    // Forced, so that the pending read of the device comes back; detached, so that a daemon still in there is no matter.
    spawnSync("umount", ["-f", "-l", this.path]);
    rmdirSync(this.path);
  }

  #hold(what: "statfs" | "everything"): Disposable {
    this.#holding = what;
    return { [Symbol.dispose]: () => this.release() };
  }

  #takeRequest(): void {
    read(this.#device, this.#buffer, 0, REQUEST_BYTES_MAX, null, (error, length) => {
      // ENODEV: unmounted. ENOENT: the request was interrupted before it was taken.
      if (error === null) this.#onRequest(this.#buffer.subarray(0, length));
      if ((error === null || error.code === "ENOENT") && !this.#closed) this.#takeRequest();
      else closeSync(this.#device);
    });
  }

  #onRequest(request: Buffer): void {
    if (request.length < IN_HEADER_BYTES) return;
    const unique = request.readBigUInt64LE(8);
    const opcode = request.readUInt32LE(4);
    const answer = (): void => this.#answer(opcode, unique);
    const isHeld = this.#holding === "everything" || (this.#holding === "statfs" && opcode === OPCODE.statfs);
    if (isHeld && WAITED_FOR.has(opcode)) this.#held.push(answer);
    else answer();
  }

  #answer(opcode: number, unique: bigint): void {
    switch (opcode) {
      case OPCODE.init:
        return this.#reply(unique, initReply());
      case OPCODE.getattr:
        return this.#reply(unique, rootAttributes());
      case OPCODE.statfs:
        return this.#reply(unique, this.#statfs());
      case OPCODE.lookup:
        return this.#reply(unique, Buffer.alloc(0), NO_SUCH_FILE);
      default:
        if (!UNANSWERED.has(opcode)) this.#reply(unique, Buffer.alloc(0), NO_SUCH_SYSTEM_CALL);
    }
  }

  #statfs(): Buffer {
    const { blocks, availableBlocks, fragmentBytes } = this.counts;
    const out = Buffer.alloc(80);
    out.writeBigUInt64LE(blocks, 0);
    out.writeBigUInt64LE(availableBlocks, 8);
    out.writeBigUInt64LE(availableBlocks, 16);
    out.writeUInt32LE(4096, 40); // block size: differs from the fragment's, so that mixing them up shows
    out.writeUInt32LE(255, 44);
    out.writeUInt32LE(fragmentBytes, 48);
    return out;
  }

  #reply(unique: bigint, body: Buffer, error = 0): void {
    const header = Buffer.alloc(OUT_HEADER_BYTES);
    header.writeUInt32LE(OUT_HEADER_BYTES + body.length, 0);
    header.writeInt32LE(error, 4);
    header.writeBigUInt64LE(unique, 8);
    try {
      writeSync(this.#device, Buffer.concat([header, body]));
    } catch {
      // The asker is gone or the filesystem is unmounted: nobody waits for this answer.
    }
  }
}

function initReply(): Buffer {
  const out = Buffer.alloc(64);
  out.writeUInt32LE(7, 0);
  out.writeUInt32LE(31, 4);
  out.writeUInt32LE(4096, 20); // max_write
  return out;
}

function rootAttributes(): Buffer {
  const out = Buffer.alloc(104);
  out.writeBigUInt64LE(1n, 16); // inode
  out.writeUInt32LE(DIRECTORY_MODE, 76);
  out.writeUInt32LE(2, 80); // links
  return out;
}
