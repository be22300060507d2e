/** What a node sends every 5 s, as it stands on the wire: a snapshot, a roster, and a daemon's resource. */

const GIB = 2 ** 30;

export interface Beat {
  readonly position: number;
  /** Counts from 0. The last sandbox of the roster is another one in each round. */
  readonly round: number;
  readonly sandboxes: number;
}

export function bodyOf({ position, round, sandboxes }: Beat): string {
  const sandboxIds = Array.from({ length: sandboxes }, (_, index) => {
    const generation = index === sandboxes - 1 ? round : 0;
    return `sandbox-${position}-${index}-${generation}`;
  });
  return JSON.stringify({
    endpoint: `node-${position}.example:443`,
    service_instance_id: `instance-${position}`,
    version: "1.0.0",
    sequence: round + 1,
    resource_sequence: round + 1,
    snapshot: {
      status: "READY",
      allocated_cpu: 2 * sandboxes,
      allocated_memory_bytes: 4 * sandboxes * GIB,
      cpu_percent: position % 90,
      cpu_count: 192,
      memory_used_bytes: 2 * sandboxes * GIB,
      memory_total_bytes: 2048 * GIB,
      sandbox_count: sandboxes,
      sandbox_starting_count: 0,
      create_successes: sandboxes + round,
      create_fails: 0,
      disks: [],
    },
    sandbox_ids: sandboxIds,
    resource: {
      cpu: 192,
      mem: 2048 * GIB,
      utilization: { cpu: 0.4, memory: 0.3, pid: 0.01, fd: 0.02, disk: 0.5 },
    },
  });
}
