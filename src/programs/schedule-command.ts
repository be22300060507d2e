import type { Command } from "commander";
import { byteSize, countBetween } from "../messages/amounts.ts";
import { nodeIdSchema } from "../messages/settings.ts";
import { apiCommand, apiOptions } from "./api-client-settings.ts";
import type { Finish } from "./finish.ts";
import { addFlags, resolveSettings, UsageError } from "./options.ts";

const MEBIBYTE = 2 ** 20;

const DEMAND_SETTINGS = {
  cpuCount: {
    key: "cpu",
    value: "CPUS",
    help: "whole CPUs that the sandbox needs; unknown when left out",
    schema: countBetween(1, 2 ** 32 - 1)
      .nullable()
      .default(null),
  },
  memoryBytes: {
    key: "memory",
    value: "SIZE",
    help: "memory that it needs, such as 4GiB; unknown when left out",
    schema: byteSize(MEBIBYTE).nullable().default(null),
  },
  requestId: {
    key: "request_id",
    value: "ID",
    help: "name of this attempt: asked again with the same one, the answer is the same reservation",
    schema: nodeIdSchema.nullable().default(null),
  },
} as const;

const MORE_HELP = `
Without --cpu, --memory and --template nothing is created: a node is picked and nothing is reserved.

Examples:
  $ npx evenkeel schedule --cpu 2 --memory 4GiB
  $ npx evenkeel schedule --template
  $ npx evenkeel schedule --cpu 2 --memory 4GiB --exclude node-1 --exclude node-2 --json
`;

export function scheduleCommand(finish: Finish): Command {
  const command = apiCommand("schedule", "Pick a node for a sandbox and reserve room for it there.");
  addFlags(command, DEMAND_SETTINGS);
  return command
    .option("--template", "the sandbox comes from a template; its demand may be left out")
    .option("--exclude <NODE>", "not on this node; may be given several times", collect, [])
    .option("--unmanaged", "nobody will confirm or cancel it: what the node reports closes the reservation")
    .addHelpText("after", MORE_HELP)
    .action(async (flags: Record<string, unknown>) => {
      const { cpuCount, memoryBytes, requestId } = resolveSettings(DEMAND_SETTINGS, {
        flags,
        environment: {},
        file: null,
      });
      const excludeNodeIds = flags.exclude as string[];
      const known = cpuCount !== null || memoryBytes !== null;
      if (flags.unmanaged === true && !known && flags.template !== true) {
        throw new UsageError("--unmanaged: nothing is reserved here; add --cpu, --memory or --template");
      }
      const { showSchedule } = await import("./schedule.ts");
      finish(
        await showSchedule(apiOptions(flags), {
          kind: flags.template === true ? "new_sandbox" : known ? "new_cold_sandbox" : null,
          cpuCount,
          memoryMib: memoryBytes === null ? null : memoryBytes / MEBIBYTE,
          requestId,
          excludeNodeIds,
          managed: flags.unmanaged !== true,
        }),
      );
    });
}

function collect(each: string, others: readonly string[]): string[] {
  return [...others, each];
}
