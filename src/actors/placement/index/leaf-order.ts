/**
 * An order of the nodes in which those that are alike are neighbours, so that what bounds some of them together says
 * much about each: by capacity, to a quarter of a doubling, then by load, along a curve that keeps near what is near in
 * both dimensions (the Z-order of G. M. Morton, "A Computer Oriented Geodetic Data Base", 1966).
 */

/** Of a node: what is promised, and what may be, each in one unit; endless where it is not known. */
export interface Amounts {
  readonly cpu: number;
  readonly cpuPromisable: number;
  readonly memory: number;
  readonly memoryPromisable: number;
}

/** A doubling of a capacity has so many steps. */
const STEPS_PER_DOUBLING = 4;
const CAPACITIES = 256;
/** Loads are told apart to 1 ÷ 2^`LOAD_BITS`; all above 1 are one. */
const LOAD_BITS = 6;
const LOADS = 2 ** LOAD_BITS;

/** Behind those of all nodes. */
export const LAST_NEIGHBOURHOOD = CAPACITIES * CAPACITIES * LOADS * LOADS;

/** A whole number below `LAST_NEIGHBOURHOOD` (2^28); nodes of which it is the same are alike. */
export function neighbourhoodOf({ cpu, cpuPromisable, memory, memoryPromisable }: Amounts): number {
  const capacity = capacityStep(cpuPromisable) * CAPACITIES + capacityStep(memoryPromisable);
  const load = spread(loadStep(cpu / cpuPromisable)) * 2 + spread(loadStep(memory / memoryPromisable));
  return capacity * LOADS * LOADS + load;
}

function capacityStep(promisable: number): number {
  return Math.max(0, Math.min(CAPACITIES - 1, Math.round(Math.log2(promisable) * STEPS_PER_DOUBLING)));
}

function loadStep(load: number): number {
  return Math.min(LOADS - 1, Math.floor(load * LOADS));
}

/** Moves bit k to bit 2k. */
function spread(step: number): number {
  let spread = 0;
  for (let bit = 0; bit < LOAD_BITS; bit++) spread |= ((step >> bit) & 1) << (2 * bit);
  return spread;
}

/** The slots by their neighbourhoods. Takes the numbers over. */
export function sortedSlots(neighbourhoods: Float64Array): Int32Array {
  const count = neighbourhoods.length;
  // Numbers sort faster than slots by their number would; below 2^53 they hold both.
  for (let slot = 0; slot < count; slot++) neighbourhoods[slot] = (neighbourhoods[slot] ?? 0) * count + slot;
  neighbourhoods.sort();
  return Int32Array.from(neighbourhoods, (number) => number % count);
}
