import { createHash } from "node:crypto";
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  type Stats,
  unlinkSync,
} from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { basename, dirname, join } from "node:path";

/** Why the socket cannot be had, in one line for the operator. */
export class SocketRefusal extends Error {}

/** `sun_path` of unix(7) holds 108 bytes with its end mark. */
const LONGEST_PATH_BYTES = 107;
/** A daemon that lives answers a connect at once; this is for one that is being stopped by a debugger. */
const PROBE_DEADLINE_MS = 1_000;

const PRIVATE_FOLDER_MODE = 0o700;

export interface SocketPlace {
  readonly path: string;
  /** Permission bits; consumers join the group. */
  readonly mode: number;
  /** Name or number of the group; null leaves the process's own. */
  readonly group: string | null;
}

/** chown(2). */
const OWNER_AS_IT_IS = -1;

/**
 * Puts a listening server at `path`: a stale socket is replaced, a live daemon and any other kind of file are left
 * alone. The server listens under a name of its own first and is then renamed, so that nobody meets it with the wrong
 * mode, and so that closing it (which unlinks the name that it was bound to) can never remove a successor's socket.
 *
 * Throws `SocketRefusal`.
 */
export async function claimSocket(server: Server, { path, mode, group }: SocketPlace): Promise<{ release(): void }> {
  const groupId = group === null ? null : groupIdOf(group);
  const bindPath = join(dirname(path), `.ek${process.pid}`);
  for (const each of [path, bindPath]) requireShort(each, path);
  makeFolder(dirname(path));
  const guard = await lock(path);
  try {
    await refuseOccupied(path);
    removeLeftover(bindPath);
    await listen(server, bindPath, path);
    if (groupId !== null) giveTo(bindPath, groupId);
    chmodSync(bindPath, mode);
    renameSync(bindPath, path);
  } catch (thrown) {
    throw thrown instanceof SocketRefusal ? thrown : new SocketRefusal(`${path}: ${explain(thrown, path)}`);
  } finally {
    guard.close();
  }
  const mine = lstatSync(path);
  return { release: () => removeIfMine(path, mine) };
}

function giveTo(path: string, groupId: number): void {
  try {
    chownSync(path, OWNER_AS_IT_IS, groupId);
  } catch {
    throw new SocketRefusal(
      `the daemon's user is not in group ${groupId}; add it, run as root, or choose another with --socket-group`,
    );
  }
}

/** The number of a group, by its line in group(5), `name:password:number:members`. */
function groupIdOf(group: string): number {
  if (/^\d+$/.test(group)) return Number(group);
  const line = readFileSync("/etc/group", "utf8")
    .split("\n")
    .find((each) => each.startsWith(`${group}:`));
  const id = Number(line?.split(":")[2] ?? Number.NaN);
  if (Number.isInteger(id)) return id;
  throw new SocketRefusal(`there is no group ${group}; make it, or choose another with --socket-group`);
}

function requireShort(path: string, asked: string): void {
  const bytes = Buffer.byteLength(path);
  if (bytes > LONGEST_PATH_BYTES) {
    throw new SocketRefusal(
      `${asked}: the path is ${bytes - LONGEST_PATH_BYTES} bytes too long for a Unix socket; choose a shorter one with --socket`,
    );
  }
}

function makeFolder(folder: string): void {
  try {
    const created = mkdirSync(folder, { recursive: true, mode: isPrivate(folder) ? PRIVATE_FOLDER_MODE : 0o755 });
    if (created === undefined && isPrivate(folder)) requireOwn(folder);
  } catch (thrown) {
    if (thrown instanceof SocketRefusal) throw thrown;
    throw new SocketRefusal(`${folder}: ${explain(thrown, folder)}`);
  }
}

/** Below /tmp anyone could have made the folder first, to answer in our place. */
const isPrivate = (folder: string): boolean => /^\/tmp\/evenkeel-\d+$/.test(folder);

function requireOwn(folder: string): void {
  const stats = lstatSync(folder);
  const mode = stats.mode & 0o777;
  if (!stats.isDirectory() || stats.uid !== process.getuid?.() || (mode & 0o077) !== 0) {
    throw new SocketRefusal(
      `${folder}: must be a folder of your own with mode 0700; remove it, or choose another path with --socket`,
    );
  }
}

/**
 * Two daemons that start together would both find the stale socket and the second would replace the first's live one.
 * An abstract socket (unix(7)) is a lock that the kernel frees with its holder.
 */
async function lock(path: string): Promise<Server> {
  const guard = createServer();
  const name = createHash("sha256").update(trueName(path)).digest("hex").slice(0, 32);
  await new Promise<void>((resolve, reject) => {
    guard.once("error", (error: NodeJS.ErrnoException) => {
      const why = error.code === "EADDRINUSE" ? "another daemon is just starting there" : explain(error, path);
      reject(new SocketRefusal(`${path}: ${why}`));
    });
    guard.listen(`\0evenkeel-${name}`, resolve);
  });
  return guard;
}

/** The same for every spelling of the path. */
function trueName(path: string): string {
  return join(realpathSync(dirname(path)), basename(path));
}

async function refuseOccupied(path: string): Promise<void> {
  const stats = statsOf(path);
  if (stats === null) return;
  if (!stats.isSocket()) {
    throw new SocketRefusal(
      `${path}: exists and is not a socket; it is left alone: remove it, or choose another path with --socket`,
    );
  }
  if (await answers(path)) {
    throw new SocketRefusal(
      `${path}: a daemon is already serving there; stop it, or choose another path with --socket`,
    );
  }
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const probe = connect(path);
    const done = (live: boolean): void => {
      probe.destroy();
      resolve(live);
    };
    // No answer is no proof of death: the socket is somebody's.
    probe.setTimeout(PROBE_DEADLINE_MS, () => done(true));
    probe.once("connect", () => done(true));
    probe.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED" || error.code === "ENOENT") done(false);
      else if (error.code === "EAGAIN")
        done(true); // its backlog is full
      else reject(new SocketRefusal(`${path}: ${explain(error, path)}`));
    });
  });
}

function listen(server: Server, bindPath: string, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error) => reject(new SocketRefusal(`${path}: ${explain(error, path)}`)));
    server.listen(bindPath, resolve);
  });
}

function removeLeftover(path: string): void {
  if (statsOf(path)?.isSocket()) unlinkSync(path);
}

function removeIfMine(path: string, mine: Stats): void {
  const now = statsOf(path);
  if (now !== null && now.ino === mine.ino && now.dev === mine.dev) unlinkSync(path);
}

function statsOf(path: string): Stats | null {
  return lstatSync(path, { throwIfNoEntry: false }) ?? null;
}

function explain(thrown: unknown, path: string): string {
  const { code, message } = thrown as NodeJS.ErrnoException;
  switch (code) {
    case "EACCES":
    case "EPERM":
      return `permission denied; give the daemon's user write permission on ${dirname(path)}, or choose another path with --socket`;
    case "EROFS":
      return "the file system is read-only; choose another path with --socket";
    case "ENOTDIR":
    case "EEXIST":
      return "a part of the path is not a folder; choose another path with --socket";
    default:
      return message;
  }
}
