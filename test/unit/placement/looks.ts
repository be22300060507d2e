import type { World } from "./world.ts";

/** How often `whyNot` was asked, from now on, about nodes that are there now; it reads the cordon of all that live. */
export function countLooks(world: World): () => number {
  let looks = 0;
  for (const node of world.placement.core.fleet.nodes.values()) {
    let { cordon } = node;
    Object.defineProperty(node, "cordon", {
      get() {
        looks += 1;
        return cordon;
      },
      set(value) {
        cordon = value;
      },
    });
  }
  return () => looks;
}
