import { Command } from "commander";
import type { Finish } from "./finish.ts";
import { addFlags, resolveSettings, UsageError } from "./options.ts";
import { SIMULATE_SETTINGS } from "./simulate-settings.ts";

const MORE_HELP = `
Peak pressure is the highest allocation ÷ capacity of any node and dimension at any time; imbalance is the standard
deviation over the mean of the nodes' CPU allocation when the last request has been answered.

Examples:
  $ npx evenkeel simulate --fleet fixtures/fleets/seed-3-nodes.json --admission none
  $ npx evenkeel simulate --fleet fleet.json --requests 10000 --rate 50 --lifetime 60s --heartbeat-interval 5s
`;

export function simulateCommand(finish: Finish): Command {
  const command = new Command("simulate").description(
    "Replay a stream of requests against a fleet file in virtual time, and compare the strategies.",
  );
  addFlags(command, SIMULATE_SETTINGS);
  return command
    .option("--json", "print the results as JSON")
    .addHelpText("after", MORE_HELP)
    .action(async (flags: Record<string, unknown>) => {
      if (flags.fleet === undefined) throw new UsageError("--fleet: is missing; name a fleet file, see --help");
      // The environment holds settings of servers; a driver with a hidden input would not repeat itself.
      const settings = resolveSettings(SIMULATE_SETTINGS, { flags, environment: {}, file: null });
      const { runSimulation } = await import("./simulate.ts");
      finish(runSimulation({ ...settings, json: flags.json === true }, process.stdout));
    });
}
