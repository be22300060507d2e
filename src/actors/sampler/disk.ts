import type { MetricObservation, SamplerInit } from "../../messages/sampling.ts";
import { observeMetric } from "./metric-observation.ts";
import { failed, found, type Missing, none, type Outcome } from "./outcome.ts";
import { overcommittedBytes } from "./overcommit.ts";
import type { MetricSampler, SamplerPorts } from "./sampler.ts";
import { type FilesystemCounts, systemStatfs } from "./statfs.ts";

/** Samples the filesystem of the filestore: how full it is, and from the same call how much storage the node offers. */
export function createDiskSampler(init: SamplerInit, { clock, statfs = systemStatfs }: SamplerPorts): MetricSampler {
  const { filestore, filestoreOvercommitRatio } = init;
  return {
    sample(tick): MetricObservation {
      const about = { source: "disk", tick, clock } as const;
      if (filestore === null) return observeMetric(about, () => []);
      let storageBytes: bigint | null = null;
      const observation = observeMetric(about, () => {
        const counts = believable(statfs(filestore));
        if (counts.kind !== "found") return [{ from: filestore, outcome: counts }];
        const { availableBlocks, fragmentBytes } = counts.value;
        storageBytes = overcommittedBytes(availableBlocks * fragmentBytes, filestoreOvercommitRatio);
        return [{ from: filestore, outcome: occupancy(counts.value) }];
      });
      return { ...observation, storageBytes };
    },
  };
}

/** More available than there is is no count at all: neither a ratio nor a promise of storage can come of it. */
function believable(counts: Outcome<FilesystemCounts>): Outcome<FilesystemCounts> {
  if (counts.kind !== "found") return counts;
  const { blocks, availableBlocks } = counts.value;
  return availableBlocks > blocks ? overfull(counts.value) : counts;
}

function overfull({ blocks, availableBlocks }: FilesystemCounts): Missing {
  return failed(`statfs: ${availableBlocks} of ${blocks} blocks available`);
}

/** `1 − f_bavail / f_blocks`: physical, before overcommit. What is reserved for root counts as occupied. */
export function occupancy(counts: FilesystemCounts): Outcome<number> {
  const { blocks, availableBlocks } = counts;
  if (blocks === 0n) return none("the filesystem has no blocks");
  if (availableBlocks > blocks) return overfull(counts);
  return found(Number(blocks - availableBlocks) / Number(blocks));
}
