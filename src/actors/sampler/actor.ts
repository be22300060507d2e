/** The sampler actor, as a worker thread makes it: takes one sample for each request and posts what it saw. */
import type { Observation, Sample, SamplerInit } from "../../messages/sampling.ts";
import type { Actor, ActorContext } from "../kernel/actor.ts";
import { createSampler } from "./samplers.ts";

export function createActor(init: SamplerInit, { clock, post }: ActorContext): Actor<Sample> {
  const sampler = createSampler(init, clock);
  return {
    receive({ tick }) {
      const observation: Observation = sampler.sample(tick);
      post(observation);
    },
  };
}
