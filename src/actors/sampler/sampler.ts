import type { CapacityObservation, MetricObservation } from "../../messages/sampling.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Statfs } from "./statfs.ts";

/**
 * Samples one source. A sample blocks its thread while the kernel answers, and never throws for anything that the kernel's
 * files hold: what cannot be read or parsed is part of the observation.
 */
export interface MetricSampler {
  sample(tick: number): MetricObservation;
}

export interface CapacitySampler {
  sample(tick: number): CapacityObservation;
}

export interface SamplerPorts {
  readonly clock: Clock;
  /** Stands in for the system's statfs. */
  readonly statfs?: Statfs;
}
