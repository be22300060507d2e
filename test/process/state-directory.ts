/** State directories for process tests, and ways to break the disk below them. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vi } from "vitest";
import { SchedulerProcess } from "./scheduler-process.ts";

export class StateDirectory implements Disposable {
  readonly path = join(mkdtempSync(join(tmpdir(), "evenkeel-state-")), "state");

  get journal(): string {
    return join(this.path, "journal.sqlite");
  }

  /** A scheduler on it, when it has replayed what is there: before that it answers as one that is not ready. */
  async start(...args: string[]): Promise<SchedulerProcess> {
    const scheduler = await SchedulerProcess.start(["--state-dir", this.path, ...args]);
    await untilStatus(scheduler, "/v1/nodes", 200);
    return scheduler;
  }

  [Symbol.dispose](): void {
    rmSync(join(this.path, ".."), { recursive: true, force: true });
  }
}

/** A file system of its own, as large as that; null where this machine lets nobody mount one. */
export function mountTmpfs(
  path: string,
  bytes: number,
): { remount(option: "ro" | "rw"): void; unmount(): void } | null {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", path], { stdio: "ignore" });
  } catch {
    return null;
  }
  return {
    remount: (option) => void execFileSync("mount", ["-o", `remount,${option}`, path]),
    unmount: () => void execFileSync("umount", ["--lazy", path]),
  };
}

/** Lets a process write no file beyond that many bytes (setrlimit(2), RLIMIT_FSIZE); null lifts the limit. */
export function limitFileSize(pid: number, bytes: number | null): void {
  execFileSync("prlimit", ["--pid", String(pid), `--fsize=${bytes ?? "unlimited"}:unlimited`]);
}

export function hasPrlimit(): boolean {
  try {
    execFileSync("prlimit", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

export const GIB = 2 ** 30;

/** A report of a sandbox runtime with 16 CPUs and 64 GiB, each sandbox of 1 CPU and 1 GiB. */
export function report(scheduler: SchedulerProcess, nodeId: string, sandboxIds: readonly string[] = []) {
  return scheduler.call("POST", `/v1/nodes/${nodeId}/heartbeat`, {
    endpoint: `${nodeId}.example:443`,
    service_instance_id: `${nodeId}-1`,
    snapshot: {
      cpu_count: 16,
      memory_total_bytes: 64 * GIB,
      allocated_cpu: sandboxIds.length,
      allocated_memory_bytes: sandboxIds.length * GIB,
      sandbox_count: sandboxIds.length,
    },
    sandbox_ids: sandboxIds,
  });
}

export interface WireGrant {
  readonly id: string;
  readonly token: string;
  readonly state: string;
  readonly node_id: string;
  readonly expires_at: string;
}

export interface WireScheduled {
  readonly reservation: WireGrant;
  readonly error?: { readonly code: string; readonly message: string; readonly details: { readonly retry?: string } };
}

export const ONE_CPU = { hint: { new_cold_sandbox: { cpu_count: 1, memory_mb: 1024 } } } as const;

/** A reservation of 1 CPU and 1 GiB. Throws when it is refused. */
export async function reserve(scheduler: SchedulerProcess, requestId?: string): Promise<WireGrant> {
  const answer = await scheduler.call<WireScheduled>("POST", "/v1/schedule", { ...ONE_CPU, request_id: requestId });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return answer.body.reservation;
}

/** Polls until a call has that status. */
export function untilStatus(scheduler: SchedulerProcess, path: string, status: number): Promise<unknown> {
  return vi.waitFor(
    async () => {
      const answer = await scheduler.call("GET", path);
      if (answer.status !== status) throw new Error(`${path}: still ${answer.status} ${JSON.stringify(answer.body)}`);
      return answer.body;
    },
    { timeout: 25_000, interval: 50 },
  );
}
