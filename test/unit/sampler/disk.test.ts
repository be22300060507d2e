import { describe, expect, test } from "vitest";
import { createDiskSampler, occupancy } from "../../../src/actors/sampler/disk.ts";
import { failed, found, none, type Outcome } from "../../../src/actors/sampler/outcome.ts";
import { overcommittedBytes } from "../../../src/actors/sampler/overcommit.ts";
import { type FilesystemCounts, systemStatfs } from "../../../src/actors/sampler/statfs.ts";
import type { SamplerInit } from "../../../src/messages/sampling.ts";
import { StepClock } from "./kernel-tree.ts";

const init = (more: Partial<SamplerInit> = {}): SamplerInit => ({
  source: "disk",
  proc: "/nowhere/proc",
  sys: "/nowhere/sys",
  sandboxCgroup: null,
  filestore: "/filestore",
  filestoreOvercommitRatio: 1,
  ...more,
});

const counts = (blocks: bigint, availableBlocks: bigint): Outcome<FilesystemCounts> =>
  found({ blocks, availableBlocks, fragmentBytes: 4096n });

/** Samples once for each outcome of statfs, in turn. */
function series(more: Partial<SamplerInit>, ...outcomes: readonly Outcome<FilesystemCounts>[]) {
  const left = [...outcomes];
  const asked: string[] = [];
  const statfs = (path: string) => {
    asked.push(path);
    return left.shift() ?? failed("asked too often");
  };
  const sampler = createDiskSampler(init(more), { clock: new StepClock(), statfs });
  return { observations: outcomes.map((_, index) => sampler.sample(index + 1)), asked };
}

describe("the filesystem of the filestore", () => {
  test("occupancy before, storage after overcommit, from one call", () => {
    const { observations, asked } = series({ filestoreOvercommitRatio: 1.5 }, counts(1000n, 250n));
    expect(observations[0]).toMatchObject({ ratio: 0.75, storageBytes: 1_536_000n, failed: false });
    expect(asked).toEqual(["/filestore"]);
  });

  test("empty is 0, full is 1 with no storage left", () => {
    const { observations } = series({}, counts(1000n, 1000n), counts(1000n, 0n));
    expect(observations).toMatchObject([
      { ratio: 0, storageBytes: 4_096_000n },
      { ratio: 1, storageBytes: 0n },
    ]);
  });

  test("more available than there is: neither a ratio nor storage", () => {
    expect(series({}, counts(1000n, 1001n)).observations[0]).toMatchObject({
      ratio: null,
      storageBytes: null,
      failed: true,
    });
    expect(occupancy({ blocks: 1000n, availableBlocks: 1001n, fragmentBytes: 1n })).toMatchObject({ kind: "failed" });
  });

  test("no blocks: no ratio, and no byte of storage", () => {
    expect(series({}, counts(0n, 0n)).observations[0]).toMatchObject({ ratio: null, storageBytes: 0n, failed: false });
    expect(occupancy({ blocks: 0n, availableBlocks: 0n, fragmentBytes: 1n })).toEqual(
      none("the filesystem has no blocks"),
    );
  });

  test("a filesystem that fails and comes back is measured again", () => {
    const { observations } = series({}, counts(10n, 5n), failed("statfs EIO"), counts(10n, 4n));
    expect(observations).toMatchObject([
      { tick: 1, ratio: 0.5, storageBytes: 20_480n, failed: false },
      { tick: 2, ratio: null, storageBytes: null, failed: true },
      { tick: 3, ratio: 0.6, storageBytes: 16_384n, failed: false },
    ]);
    expect(observations[1]?.readings).toEqual([{ from: "/filestore", ratio: null, why: "statfs EIO" }]);
  });

  test("counts beyond 2^53 are exact", () => {
    const { observations } = series({}, counts(2n ** 62n, 2n ** 53n + 1n));
    expect(observations[0]?.storageBytes).toBe((2n ** 53n + 1n) * 4096n);
  });

  test("without a filestore nothing is asked, the ratio is null and the storage absent", () => {
    const sampler = createDiskSampler(init({ filestore: null }), {
      clock: new StepClock(),
      statfs: () => {
        throw new Error("asked");
      },
    });
    const observation = sampler.sample(1);
    expect(observation).toMatchObject({ ratio: null, failed: false, readings: [] });
    expect("storageBytes" in observation).toBe(false);
  });
});

describe("the system's statfs", () => {
  test("a real filesystem", () => {
    const outcome = systemStatfs("/");
    expect(outcome.kind).toBe("found");
    if (outcome.kind !== "found") return;
    expect(outcome.value.blocks).toBeGreaterThan(0n);
    expect(outcome.value.availableBlocks).toBeLessThanOrEqual(outcome.value.blocks);
    expect(outcome.value.fragmentBytes).toBeGreaterThanOrEqual(512n);
  });

  test("a filestore that does not exist is a failure", () => {
    expect(systemStatfs("/nowhere/at/all")).toEqual(failed("statfs ENOENT"));
  });
});

describe("overcommit", () => {
  test.each([
    [10n, 1, 10n],
    [10n, 1.4, 14n],
    [3n, 1.5, 4n],
    [1_000_003n, 1.1, 1_100_003n],
    [2n ** 60n, 1, 2n ** 60n],
    [2n ** 60n + 1n, 2, 2n ** 61n + 2n],
    [5n, 1e21, 5n * 10n ** 21n],
    [5n, 2.5e21, 125n * 10n ** 20n],
    [0n, 3, 0n],
  ])("%i bytes × %d is %i bytes", (bytes, ratio, product) => {
    expect(overcommittedBytes(bytes, ratio)).toBe(product);
  });
});
