import { type EvidenceError, UnreachableError } from "../actors/load/evidence.ts";
import { LoadError } from "./load-terms.ts";

/** What to do about a load run that could not go on, to be read after why; empty where that says enough. */
export function mendOf(thrown: EvidenceError | LoadError, hasNodeTokens: boolean): string {
  const { message, code } = thrown;
  if (thrown instanceof UnreachableError) {
    if (/certificate/.test(message)) return "; name the authority that it comes from with --ca";
    return '; start one with "npx evenkeel scheduler", or name another with --scheduler URL';
  }
  if (code !== "unauthenticated" && code !== "permission_denied") return "";
  // Everything else is asked as an operator; of a node it is a report that was refused.
  if (!(thrown instanceof LoadError)) return "; name a file that holds an operator's with --token-file";
  if (hasNodeTokens) return "; every line of a node in --node-tokens has to stand in the scheduler's --tokens file too";
  return "; give each node a token that names it with --node-tokens FILE";
}
