/**
 * The URL of a module, for a thread to import: `relative` (without extension) as seen from `here` (`import.meta.url`).
 * Source runs from `.ts` files, the built program from `.js` files of the same names.
 */
export function moduleUrl(here: string, relative: string): string {
  return new URL(`${relative}${here.endsWith(".ts") ? ".ts" : ".js"}`, here).href;
}
