import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import type { SamplerInit, Source } from "../../../src/messages/sampling.ts";
import type { Clock } from "../../../src/ports/clock.ts";

export type TreeName =
  | "v1"
  | "v1-comounted"
  | "v2"
  | "hybrid"
  | "hybrid-split"
  | "nested"
  | "nested-v1"
  | "no-limits"
  | "all-limits";

const FIXTURES = join(import.meta.dirname, "../../../fixtures/kernel");

/** A clock that stands still until it is stepped. */
export class StepClock implements Clock {
  nowMs = 1_000;

  monotonicMs(): number {
    return this.nowMs;
  }

  wallMs(): number {
    return this.nowMs;
  }

  after(): never {
    throw new Error("samplers wait for nothing");
  }
}

/** A copy of a fixture tree that a test can change as a running kernel would. Paths are relative to the tree. */
export class KernelTree {
  readonly path: string;

  constructor(name: TreeName) {
    this.path = mkdtempSync(join(tmpdir(), "evenkeel-kernel-"));
    onTestFinished(() => rmSync(this.path, { recursive: true, force: true }));
    cpSync(join(FIXTURES, name), this.path, { recursive: true });
  }

  at(file: string): string {
    return join(this.path, file);
  }

  read(file: string): string {
    return readFileSync(this.at(file), "utf8");
  }

  write(file: string, text: string | Uint8Array): void {
    mkdirSync(dirname(this.at(file)), { recursive: true });
    writeFileSync(this.at(file), text);
  }

  remove(file: string): void {
    rmSync(this.at(file), { recursive: true });
  }

  /** Puts the sibling `file.suffix` in place of `file`. */
  swapIn(file: string, suffix: string): void {
    this.write(file, this.read(`${file}.${suffix}`));
  }

  init(source: Source, more: Partial<SamplerInit> = {}): SamplerInit {
    return {
      source,
      proc: this.at("proc"),
      sys: this.at("sys"),
      sandboxCgroup: null,
      filestore: null,
      filestoreOvercommitRatio: 1,
      ...more,
    };
  }
}

/** The text of a fixture file, unchanged. */
export function fixture(name: TreeName, file: string): string {
  return readFileSync(join(FIXTURES, name, file), "utf8");
}
