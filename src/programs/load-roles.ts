/** Which nodes a load run plays: of any number and name where nobody asks who they are, else those that have tokens. */
import { readFileSync } from "node:fs";
import type { NodeRole } from "../actors/load/messages.ts";
import { isBearerToken } from "../messages/bearer-token.ts";
import { nodeIdSchema } from "../messages/settings.ts";
import { describeThrown } from "../messages/thrown.ts";
import { UsageError } from "./options.ts";

const USUAL_COUNT = 50;

export function rolesWithoutTokens(count: number | null, prefix: string): NodeRole[] {
  const named = (_: unknown, position: number) => ({ nodeId: `${prefix}-node-${position + 1}`, token: null });
  return Array.from({ length: count ?? USUAL_COUNT }, named);
}

/** The first `count` nodes of the file, or all. Throws `UsageError`. */
export function readRoles(path: string, count: number | null): NodeRole[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (thrown) {
    throw new UsageError(`--node-tokens: ${describeThrown(thrown)}`);
  }
  const roles = parseRoles(text);
  if (typeof roles === "string") throw new UsageError(`--node-tokens: ${path}: ${roles}`);
  if (count !== null && count > roles.length) {
    throw new UsageError(`--nodes: ${path} names ${roles.length} nodes, which is fewer than ${count}`);
  }
  return roles.slice(0, count ?? roles.length);
}

/**
 * Reads the lines of nodes as the scheduler's own file of tokens has them, so that one file can be both; those of other
 * callers are passed over. What is wrong is told in words that quote no token.
 */
export function parseRoles(text: string): NodeRole[] | string {
  const roles = new Map<string, NodeRole>();
  for (const [index, line] of text.split("\n").entries()) {
    const [kind, nodeId = "", token, ...more] = line.trim().split(/\s+/);
    if (kind !== "node") continue;
    const at = `line ${index + 1}`;
    if (token === undefined || more.length > 0) return `${at}: is not "node NAME TOKEN"`;
    if (!nodeIdSchema.safeParse(nodeId).success) return `${at}: names no valid node id`;
    if (!isBearerToken(token)) return `${at}: has no bearer token; a hash cannot be sent, it takes the token itself`;
    if (roles.has(nodeId)) return `${at}: its node has an earlier line`;
    roles.set(nodeId, { nodeId, token });
  }
  return roles.size === 0 ? 'it has no line "node NAME TOKEN"' : [...roles.values()];
}
