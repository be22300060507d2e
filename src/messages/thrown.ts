/** What a thrown thing says, in one line; anything can be thrown. */
export function describeThrown(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
