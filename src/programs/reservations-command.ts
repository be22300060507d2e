import type { Command } from "commander";
import { RESERVATION_STATES } from "../messages/placement.ts";
import { oneOf } from "../messages/settings.ts";
import { apiCommand, apiOptions } from "./api-client-settings.ts";
import type { Finish } from "./finish.ts";
import { addFlags, resolveSettings } from "./options.ts";

const STATE_SETTING = {
  state: {
    key: "state",
    value: "STATE",
    help: `only those that are ${RESERVATION_STATES.join(", ")}; without it the live ones`,
    schema: oneOf(RESERVATION_STATES).nullable().default(null),
  },
} as const;

export function reservationsCommand(finish: Finish): Command {
  const command = apiCommand("reservations", "List reservations, the oldest first.");
  command.option("--node <NODE>", "only those on this node");
  addFlags(command, STATE_SETTING);
  return command.action(async (flags: Record<string, unknown>) => {
    const { state } = resolveSettings(STATE_SETTING, { flags, environment: {}, file: null });
    const nodeId = (flags.node as string | undefined) ?? null;
    const { showReservations } = await import("./reservations.ts");
    finish(await showReservations(apiOptions(flags), { nodeId, state }));
  });
}
