import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { evenkeel } from "./evenkeel-command.ts";
import { report, reserve, StateDirectory } from "./state-directory.ts";

const journal = (action: string, state: StateDirectory, ...more: string[]) =>
  evenkeel(["journal", action, ...more, "--state-dir", state.path]);

/** A scheduler that has two nodes, one of them cordoned, and three reservations: pending, confirmed and cancelled. */
async function live(state: StateDirectory) {
  const scheduler = await state.start();
  for (const nodeId of ["a", "b"]) await report(scheduler, nodeId);
  await reserve(scheduler, "pending");
  const { token } = await reserve(scheduler, "confirmed");
  await scheduler.call("POST", `/v1/reservations/${token}/confirm`, { sandbox_id: "s1" });
  const cancelled = await reserve(scheduler, "cancelled");
  await scheduler.call("POST", `/v1/reservations/${cancelled.token}/cancel`, {});
  await scheduler.call("POST", "/v1/nodes/b/cordon", {});
  return scheduler;
}

const LIVES = {
  reservations: { pending: 1, confirmed: 1, settled: 0, cancelled: 1, expired: 0, released: 0 },
  nodes: 2,
  unregistered_nodes: 0,
  cordoned_nodes: 1,
  nodes_under_pressure: 0,
  assignments: 1,
  named_sandboxes: 0,
};

describe("evenkeel journal", () => {
  test("checks and exports beside the scheduler that writes, and an import is a journal to start from", async () => {
    using state = new StateDirectory();
    using restored = new StateDirectory();
    await using scheduler = await live(state);
    const checked = await journal("check", state, "--json");
    expect(checked.code).toBe(0);
    expect(JSON.parse(checked.stdout)).toMatchObject({
      whole: true,
      damage: null,
      schema: 1,
      path: state.journal,
      snapshot_entries: 0,
      lives: LIVES,
    });
    const table = await journal("check", state);
    expect(table.stdout).toMatch(/^reservations, confirmed +1$/m);
    expect(table.stdout).toMatch(/Every row is whole\.\n$/);

    const exported = await journal("export", state);
    expect(exported.code).toBe(0);
    const [header, ...entries] = exported.stdout.trimEnd().split("\n");
    expect(JSON.parse(header ?? "")).toEqual({ format: "evenkeel-journal", schema: 1, entries: entries.length });
    expect(
      entries.map((line) => JSON.parse(line) as object).filter((entry) => "change" in entry).length,
    ).toBeGreaterThan(6);

    const file = join(state.path, "..", "backup.jsonl");
    writeFileSync(file, exported.stdout);
    const imported = await journal("import", restored, file);
    expect(imported).toEqual({
      code: 0,
      stdout: `${entries.length} entries are now in ${restored.journal}.\n`,
      stderr: "",
    });
    expect(JSON.parse((await journal("check", restored, "--json")).stdout)).toMatchObject({ lives: LIVES });
    const again = await journal("export", restored);
    expect(again.stdout).toBe(exported.stdout);
    await using next = await restored.start();
    for (const nodeId of ["a", "b"]) await report(next, nodeId);
    expect(await reserve(next, "pending")).toMatchObject({ state: "pending" });
    const [before, after] = await Promise.all(
      [scheduler, next].map((each) => each.call<{ reservations: { id: string }[] }>("GET", "/v1/reservations")),
    );
    expect(after?.body.reservations.map(({ id }) => id)).toEqual(before?.body.reservations.map(({ id }) => id));
  });

  test("of a damaged journal it says what and where, and reads what comes before", async () => {
    using state = new StateDirectory();
    {
      await using scheduler = await live(state);
      await scheduler.stop();
    }
    const database = new DatabaseSync(state.journal);
    const { seq } =
      database.prepare("SELECT seq FROM batches WHERE body LIKE '%cancelled%' AND body LIKE '%reason%'").get() ?? {};
    database.prepare("UPDATE batches SET body = '[]' WHERE seq = ?").run(Number(seq));
    database.close();
    const damage = `${state.journal}: batch ${seq} is damaged: its checksum differs`;
    const checked = await journal("check", state, "--json");
    expect([checked.code, checked.stderr]).toEqual([1, `evenkeel: ${damage}\n`]);
    expect(JSON.parse(checked.stdout)).toMatchObject({
      whole: false,
      damage,
      lives: { reservations: { pending: 2, confirmed: 1, cancelled: 0 } },
    });
    const exported = await journal("export", state);
    expect([exported.code, exported.stderr]).toEqual([1, `evenkeel: ${damage}\n`]);
    expect(exported.stdout.split("\n").length).toBeGreaterThan(4);
  });

  test("imports nothing that is cut off, of another format, or makes no sense, and leaves the directory empty", async () => {
    using state = new StateDirectory();
    const file = join(state.path, "..", "bad.jsonl");
    const header = (entries: number, more: object = {}): string =>
      JSON.stringify({ format: "evenkeel-journal", schema: 1, entries, ...more });
    const settled = JSON.stringify({ position: 1, wallMs: 1, change: { type: "settled", id: "rs_nobody" } });
    const cases: [string, RegExp][] = [
      ["", /nothing was given to import$/],
      ["{}\n", /line 1 is no header of an evenkeel-journal export$/],
      [`${header(2)}\n{}\n`, /the header names 2 entries, and 1 followed$/],
      [`${header(1)}\n{"change":\n`, /line 2 is no JSON$/],
      [`${header(0, { schema: 9 })}\n`, /exported by a newer evenkeel \(schema 9, this one knows 1\)/],
      [`${header(1)}\n${settled}\n`, /the entries make no sense together: settled: no reservation rs_nobody$/],
    ];
    for (const [text, says] of cases) {
      writeFileSync(file, text);
      const { code, stdout, stderr } = await journal("import", state, file);
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr.trimEnd()).toMatch(says);
      expect(stderr.trimEnd().split("\n")).toHaveLength(1);
      expect(readdirSync(state.path)).toEqual([]);
    }
  });

  test("imports into no directory that has anything in it, and reads no file that is not there", async () => {
    using state = new StateDirectory();
    const missing = await journal("import", state, "/nowhere/backup.jsonl");
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringMatching(/^evenkeel: .*ENOENT.*backup\.jsonl/)]);
    rmSync(state.path, { recursive: true, force: true });
    mkdirSync(state.path);
    writeFileSync(join(state.path, "note"), "mine");
    const { code, stderr } = await journal("import", state, join(import.meta.dirname, "journal.test.ts"));
    expect(code).toBe(1);
    expect(stderr).toMatch(/state: has note in it; name a directory that is empty or not there yet\n$/);
    expect(readFileSync(join(state.path, "note"), "utf8")).toBe("mine");
  });

  test.each([
    [["check"], 1, /state: ?.*journal\.sqlite: there is no journal\n$|journal\.sqlite: there is no journal\n$/],
    [["export"], 1, /journal\.sqlite: there is no journal\n$/],
    [["mend"], 2, /^evenkeel: .*'mend'.*Allowed choices are check, export, import/],
    [["export", "file"], 2, /^evenkeel: file: export takes no file; its directory is named by --state-dir\n$/],
  ])("called as %j it exits with %i", async (args, code, says) => {
    using state = new StateDirectory();
    const result = await evenkeel(["journal", ...args, "--state-dir", state.path]);
    expect(result.stdout).toBe("");
    expect(result.stderr).toMatch(says);
    expect(result.code).toBe(code);
  });

  test("a directory is what it needs", async () => {
    expect(await evenkeel(["journal", "check", "--state-dir", "none"])).toEqual({
      code: 2,
      stdout: "",
      stderr: 'evenkeel: --state-dir: "none" keeps no journal; name a directory\n',
    });
  });
});
