/** Fails before its life begins. */
export function createActor(): never {
  throw new Error("no such device");
}
