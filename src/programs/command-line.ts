import { Command, CommanderError } from "commander";
import { cancelCommand, renewCommand } from "./cancel-command.ts";
import { confirmCommand } from "./confirm-command.ts";
import { cordonCommand, uncordonCommand } from "./cordon-command.ts";
import { daemonCommand } from "./daemon-command.ts";
import type { Finish } from "./finish.ts";
import { gatewayCommand } from "./gateway-command.ts";
import { journalCommand } from "./journal-command.ts";
import { loadCommand } from "./load-command.ts";
import { nodesCommand } from "./nodes-command.ts";
import { UsageError } from "./options.ts";
import { packageVersion } from "./package-version.ts";
import { releaseCommand } from "./release-command.ts";
import { reservationsCommand } from "./reservations-command.ts";
import { resourceCommand } from "./resource-command.ts";
import { scheduleCommand } from "./schedule-command.ts";
import { schedulerCommand } from "./scheduler-command.ts";
import { simulateCommand } from "./simulate-command.ts";
import { tokenCommand } from "./token-command.ts";
import { unregisterCommand } from "./unregister-command.ts";
import { upCommand } from "./up-command.ts";

/** Exit codes: 0 done, 1 it failed, 2 it was called wrongly. */
const WRONG_CALL = 2;

/** In the order of the help: what runs, what looks and acts, what tests. */
const COMMANDS = [
  upCommand,
  schedulerCommand,
  gatewayCommand,
  daemonCommand,
  resourceCommand,
  nodesCommand,
  scheduleCommand,
  reservationsCommand,
  confirmCommand,
  cancelCommand,
  renewCommand,
  releaseCommand,
  cordonCommand,
  uncordonCommand,
  unregisterCommand,
  tokenCommand,
  journalCommand,
  simulateCommand,
  loadCommand,
] as const;

/** Parses the arguments (without node and script), runs the program that they name, and returns the exit code. */
export async function run(argv: readonly string[]): Promise<number> {
  let code = 0;
  const finish: Finish = (finished) => {
    code = finished;
  };
  const program = new Command("evenkeel")
    .description("Keeps a fleet of sandbox nodes on an even keel.")
    .version(packageVersion(), "-V, --version", "print the version and exit")
    .helpOption("-h, --help", "show help")
    .helpCommand(false)
    .configureOutput({ outputError: (text, write) => write(oneLine(text)) })
    .exitOverride();
  for (const command of COMMANDS.map((make) => make(finish))) {
    // Settings of the parent, so that every command refuses in the same way.
    program.addCommand(command.copyInheritedSettings(program));
  }
  try {
    if (argv.length === 0) {
      program.outputHelp();
      return WRONG_CALL;
    }
    await program.parseAsync([...argv], { from: "user" });
    return code;
  } catch (thrown) {
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : WRONG_CALL;
    if (!(thrown instanceof UsageError)) throw thrown;
    process.stderr.write(`evenkeel: ${thrown.message}\n`);
    return WRONG_CALL;
  }
}

/** Commander's own complaints in the form of ours: one line, with what to do. */
function oneLine(text: string): string {
  const complaint = text
    .trim()
    .replace(/^error: /, "")
    .replaceAll(/\s*\n\s*/g, " ");
  return `evenkeel: ${complaint}${complaint.endsWith("?)") ? "" : "; see --help"}\n`;
}
