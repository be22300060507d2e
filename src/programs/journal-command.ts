import { Argument, Command } from "commander";
import type { Finish } from "./finish.ts";
import { addFlags, flagOf, resolveSettings, UsageError } from "./options.ts";
import { NO_STATE_DIR, SCHEDULER_SETTINGS } from "./scheduler-settings.ts";

const JOURNAL_SETTINGS = { stateDir: SCHEDULER_SETTINGS.stateDir } as const;

const MORE_HELP = `
check   reads every row and says what lives in the journal; exits with 1 when a row is damaged
export  writes the journal as JSON, a header line and one entry a line, to standard output; of a damaged one, what comes
        before the damage. Both may be run beside the scheduler that writes to the directory.
import  makes a journal from an export, FILE or standard input, in a directory that is empty or not there yet

The export holds the tokens of reservations: keep it as you keep the directory.

Examples:
  $ npx evenkeel journal check
  $ npx evenkeel journal export > backup.jsonl
  $ npx evenkeel journal import backup.jsonl --state-dir /var/lib/evenkeel-restored
`;

export function journalCommand(finish: Finish): Command {
  const command = new Command("journal")
    .description("Check, export or import what a scheduler keeps over a restart.")
    .addArgument(new Argument("<ACTION>", "what to do").choices(["check", "export", "import"]))
    .argument("[FILE]", "an export; only for import");
  addFlags(command, JOURNAL_SETTINGS);
  return command
    .option("--json", "print what check finds as JSON")
    .addHelpText("after", MORE_HELP)
    .action(async (action: "check" | "export" | "import", file: string | undefined, flags: Record<string, unknown>) => {
      const { stateDir } = resolveSettings(JOURNAL_SETTINGS, { flags, environment: process.env, file: null });
      if (stateDir === NO_STATE_DIR) {
        throw new UsageError(
          `${flagOf(JOURNAL_SETTINGS.stateDir)}: "${NO_STATE_DIR}" keeps no journal; name a directory`,
        );
      }
      if (file !== undefined && action !== "import") {
        throw new UsageError(`${file}: ${action} takes no file; its directory is named by --state-dir`);
      }
      const { checkJournal, exportJournal, importInto } = await import("./journal.ts");
      if (action === "check") finish(checkJournal(stateDir, { json: flags.json === true }));
      else if (action === "export") finish(await exportJournal(stateDir));
      else finish(await importInto(stateDir, file ?? null));
    });
}
