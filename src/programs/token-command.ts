import { Command } from "commander";
import { TOKEN_KINDS, type TokenKind } from "../messages/callers.ts";
import { nodeIdSchema } from "../messages/settings.ts";
import { type Random, systemRandom } from "../ports/random.ts";
import type { Finish } from "./finish.ts";
import { UsageError } from "./options.ts";

/** As many random bits as a hash of them is worth. */
const TOKEN_BYTES = 32;

/** Prints a new token, and its line for the file that `scheduler --tokens` reads. */
export function tokenCommand(finish: Finish): Command {
  return new Command("token")
    .description(
      "Mint a token: it is printed once, with the line for the scheduler's --tokens file, which holds its hash.",
    )
    .argument("<KIND>", TOKEN_KINDS.join(", "))
    .argument("[NODE]", "the one node that a node's token is for")
    .action(async (kind: string, node: string | undefined) => {
      const { hashOf } = await import("../actors/api/tokens.ts");
      const token = mint(systemRandom);
      const names = [kindOf(kind), ...nodeOf(kind, node)].join(" ");
      process.stdout.write(`token  ${token}\nline   ${names} sha256:${hashOf(token).toString("hex")}\n`);
      finish(0);
    });
}

function mint(random: Random): string {
  return `ek_${Buffer.from(random.bytes(TOKEN_BYTES)).toString("base64url")}`;
}

function kindOf(kind: string): TokenKind {
  const known = TOKEN_KINDS.find((each) => each === kind);
  if (known === undefined)
    throw new UsageError(`KIND: ${JSON.stringify(kind)} is not one of ${TOKEN_KINDS.join(", ")}`);
  return known;
}

function nodeOf(kind: string, node: string | undefined): string[] {
  if (node === undefined) return [];
  if (kind !== "node") throw new UsageError("NODE: only a node's token is for one node; leave it out");
  const parsed = nodeIdSchema.safeParse(node);
  if (!parsed.success) throw new UsageError(`NODE: ${parsed.error.issues[0]?.message}`);
  return [parsed.data];
}
