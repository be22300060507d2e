import { once } from "node:events";
import { createServer } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { CreateFailed, CreateRefused, PlaceError, PlacementClient, PlacementError } from "../../src/client/index.ts";
import { LossyProxy } from "./lossy-proxy.ts";
import { RunningScheduler } from "./running-scheduler.ts";

// Several programs start in one test, on machines that do other things meanwhile.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 });

const TWO_CPUS = { hint: { new_cold_sandbox: { cpu_count: 2, memory_mb: 1024 } } };

let scheduler: RunningScheduler;
let client: PlacementClient;
let names = 0;

/** The error that `place` fails with. */
async function failureOf(placing: Promise<unknown>): Promise<PlaceError> {
  const thrown = await placing.then(
    () => null,
    (error: unknown) => error,
  );
  if (thrown instanceof PlaceError) return thrown;
  throw new Error(`not a PlaceError: ${thrown}`);
}

/** A create that goes on until its signal is aborted, and then says so. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

/** A new sandbox id in each test: an id binds once. */
const newSandbox = (): string => `sandbox-${++names}`;

describe("place, and the reservation that it leaves (placement.md, 4)", () => {
  beforeAll(async () => {
    scheduler = await RunningScheduler.start();
    client = new PlacementClient({ url: scheduler.url });
    await scheduler.addLedgerNode("node-a", { cpu: 64, memoryGib: 256 });
    await scheduler.addLedgerNode("node-b", { cpu: 64, memoryGib: 256 });
  });
  afterAll(async () => scheduler[Symbol.asyncDispose]());
  beforeEach(async () => {
    // A node that is silent for 30 s is out; other tests may take their time.
    await scheduler.addLedgerNode("node-a", { cpu: 64, memoryGib: 256 });
    await scheduler.addLedgerNode("node-b", { cpu: 64, memoryGib: 256 });
  });

  test("a sandbox id: confirmed on the node that the create was given", async () => {
    const sandboxId = newSandbox();
    const seen: string[] = [];
    const placed = await client.place(TWO_CPUS, async (node, { reservation }) => {
      seen.push(node.node_id, node.endpoint ?? "", reservation.state);
      return sandboxId;
    });
    expect(seen).toEqual([placed.node.node_id, `${placed.node.node_id}.example:9000`, "pending"]);
    expect(placed).toMatchObject({ sandboxId, refusals: [] });
    const reservation = await scheduler.reservation(placed.reservation.id);
    expect(reservation).toMatchObject({ state: "confirmed", sandbox_id: sandboxId, cpu: 2, late: false });
    expect(reservation.memory_bytes).toBe(2 ** 30);
  });

  test("CreateRefused: cancelled as refused, and the next attempt goes elsewhere", async () => {
    const ids: string[] = [];
    const placed = await client.place(TWO_CPUS, async (node, { reservation }) => {
      ids.push(reservation.id);
      if (ids.length === 1) throw new CreateRefused(`no room on ${node.node_id}`);
      return newSandbox();
    });
    const [first = "", second = ""] = ids;
    expect(await scheduler.reservation(first)).toMatchObject({ state: "cancelled", reason: "refused", cpu: 0 });
    expect(await scheduler.reservation(second)).toMatchObject({ state: "confirmed", node_id: placed.node.node_id });
    expect(placed.refusals.map(({ node }) => node.node_id)).toEqual([(await scheduler.reservation(first)).node_id]);
    expect(placed.refusals[0]?.node.node_id).not.toBe(placed.node.node_id);
  });

  test("CreateRefused everywhere: every node once, then `refused` with each reason", async () => {
    const tried: string[] = [];
    const failure = await failureOf(
      client.place(TWO_CPUS, async (node) => {
        tried.push(node.node_id);
        throw new CreateRefused("too old");
      }),
    );
    expect(tried.sort()).toEqual(["node-a", "node-b"]);
    expect(failure).toMatchObject({ code: "refused", sandboxId: null });
    expect(failure.message).toMatch(/every node refused the create \(node-[ab]: too old; node-[ab]: too old\)/);
    expect(failure.cause).toMatchObject({ code: "no_nodes", details: { reasons: { excluded: 2 } } });
  });

  test("CreateRefused as often as attempts are allowed", async () => {
    let tries = 0;
    const create = async (): Promise<string> => {
      tries++;
      throw new CreateRefused("no");
    };
    const failure = await failureOf(client.place(TWO_CPUS, create, { attemptsMax: 1 }));
    expect([failure.code, tries]).toEqual(["refused", 1]);
  });

  test("CreateFailed: cancelled as failed, and no other node is tried", async () => {
    let tries = 0;
    const cause = new CreateFailed("no such image");
    const failure = await failureOf(
      client.place(TWO_CPUS, async () => {
        tries++;
        throw cause;
      }),
    );
    expect([failure.code, failure.cause, failure.sandboxId, tries]).toEqual(["failed", cause, null, 1]);
    const { id = "" } = failure.reservation ?? {};
    expect(await scheduler.reservation(id)).toMatchObject({ state: "cancelled", reason: "failed", cpu: 0 });
  });

  test("anything else: uncertain, still charged, and no other node is tried", async () => {
    const cause = new Error("socket hang up");
    const failure = await failureOf(client.place(TWO_CPUS, async () => Promise.reject(cause)));
    expect(failure).toMatchObject({ code: "uncertain", cause, sandboxId: null, refusals: [] });
    const { id = "" } = failure.reservation ?? {};
    expect(await scheduler.reservation(id)).toMatchObject({ state: "pending", uncertain: true, cpu: 2 });
  });

  test("a create that takes too long: its signal is aborted, and it is uncertain", async () => {
    const placing = client.place(TWO_CPUS, (_node, { signal }) => untilAborted(signal), { createWithinMs: 50 });
    const failure = await failureOf(placing);
    expect(failure.code).toBe("uncertain");
    expect(failure.message).toContain("the create took longer than 50 ms");
    const { id = "" } = failure.reservation ?? {};
    expect(await scheduler.reservation(id)).toMatchObject({ state: "pending", uncertain: true });
  });

  test("a create that takes too long and does not listen is left after a second, uncertain", async () => {
    const placing = client.place(TWO_CPUS, () => new Promise<never>(() => undefined), { createWithinMs: 50 });
    const { reservation } = await failureOf(placing);
    expect(await scheduler.reservation(reservation?.id ?? "")).toMatchObject({ state: "pending", uncertain: true });
  });

  test("aborted before it began: nothing is reserved", async () => {
    const before = (await scheduler.nodes()).map(({ reservations }) => reservations.pending);
    const failure = await failureOf(client.place(TWO_CPUS, newSandboxAsync, { signal: AbortSignal.abort() }));
    expect([failure.code, failure.reservation]).toEqual(["aborted", null]);
    expect((await scheduler.nodes()).map(({ reservations }) => reservations.pending)).toEqual(before);
  });

  test("aborted while the create runs: uncertain", async () => {
    const abort = new AbortController();
    const placing = client.place(
      TWO_CPUS,
      (_node, { signal }) => {
        queueMicrotask(() => abort.abort(new Error("the user closed the tab")));
        return untilAborted(signal);
      },
      { signal: abort.signal },
    );
    const failure = await failureOf(placing);
    expect(failure.code).toBe("uncertain");
    expect(failure.message).toContain("the user closed the tab");
    expect(await scheduler.reservation(failure.reservation?.id ?? "")).toMatchObject({ uncertain: true });
  });

  test("aborted, but the create says that it exists, or that it does not: that holds", async () => {
    const abort = new AbortController();
    const { signal } = abort;
    const placed = await client.place(
      TWO_CPUS,
      async () => {
        abort.abort();
        return newSandbox();
      },
      { signal },
    );
    expect(await scheduler.reservation(placed.reservation.id)).toMatchObject({ state: "confirmed" });

    const later = new AbortController();
    const create = async (): Promise<string> => {
      later.abort();
      throw new CreateFailed("not sent yet");
    };
    const failure = await failureOf(client.place(TWO_CPUS, create, { signal: later.signal }));
    expect(failure.code).toBe("failed");
    expect(await scheduler.reservation(failure.reservation?.id ?? "")).toMatchObject({ state: "cancelled" });
  });

  test("no node for it: `no_nodes` with the count per reason, and no create", async () => {
    const failure = await failureOf(
      client.place({ hint: { new_cold_sandbox: { cpu_count: 1_000 } } }, async () => newSandbox()),
    );
    expect(failure).toMatchObject({ code: "no_nodes", status: 503, details: { reasons: { "insufficient cpu": 2 } } });
  });

  test("a sandbox id that is bound to another reservation: a conflict that names the sandbox", async () => {
    const sandboxId = newSandbox();
    await client.place(TWO_CPUS, async () => sandboxId);
    const failure = await failureOf(client.place(TWO_CPUS, async () => sandboxId));
    expect(failure).toMatchObject({ code: "conflict", status: 409, sandboxId });
  });
});

describe("a lease that is shorter than the create", () => {
  test("is renewed at half its time, so that the confirm is not late", async () => {
    await using short = await RunningScheduler.start({ args: ["--placement-reservation-ttl", "1s"] });
    await short.addLedgerNode("node-a", { cpu: 4, memoryGib: 16 });
    await using proxy = await LossyProxy.open(short.url, () => "pass");
    const placed = await new PlacementClient({ url: proxy.url }).place(TWO_CPUS, async (_node, { reservation }) => {
      // Two lease times after it was made; without a renewal it would have ended after one.
      await expect
        .poll(async () => leaseMs(await short.reservation(reservation.id)), { timeout: 15_000 })
        .toBeGreaterThanOrEqual(2_000);
      return newSandbox();
    });
    expect(proxy.to("renew").length).toBeGreaterThanOrEqual(2);
    expect(placed.reservation).toMatchObject({ state: "confirmed", late: false });
  });

  describe("and cannot be renewed any more", () => {
    const oneSecond = ["--placement-reservation-ttl", "1s", "--max-reservation-age", "1s", "--uncertain-ttl", "1s"];
    /** Without a time of its own, a create is told to end with its lease. */
    const patient = { createWithinMs: 60_000 };
    /** Waits until the lease is over and another request has taken its room, and returns the sandbox all the same. */
    const lateInto =
      (short: RunningScheduler) =>
      async (_node: unknown, { reservation }: { reservation: { id: string } }): Promise<string> => {
        const { id } = reservation;
        await expect.poll(async () => (await short.reservation(id)).state, { timeout: 15_000 }).toBe("expired");
        await short.call("/v1/schedule", { hint: { new_cold_sandbox: { cpu_count: 2 } } });
        return newSandbox();
      };

    test("a late confirm that still fits is confirmed, as late", async () => {
      await using short = await RunningScheduler.start({ args: oneSecond });
      await short.addLedgerNode("node-a", { cpu: 4, memoryGib: 16 });
      const placed = await new PlacementClient({ url: short.url }).place(TWO_CPUS, lateInto(short), patient);
      expect(await short.reservation(placed.reservation.id)).toMatchObject({ state: "confirmed", late: true });
    });

    test("one that no longer fits: the sandbox is destroyed, and nothing is charged for it", async () => {
      await using short = await RunningScheduler.start({ args: oneSecond });
      await short.addLedgerNode("node-a", { cpu: 2, memoryGib: 16 });
      const destroyed: string[] = [];
      const failure = await failureOf(
        new PlacementClient({ url: short.url }).place(TWO_CPUS, lateInto(short), {
          ...patient,
          destroy: async (node, sandboxId) => void destroyed.push(node.node_id, sandboxId),
        }),
      );
      expect(destroyed).toEqual(["node-a", `sandbox-${names}`]);
      expect(failure).toMatchObject({ code: "expired", status: 410, sandboxId: null });
      const { id = "" } = failure.reservation ?? {};
      expect(await short.reservation(id)).toMatchObject({ state: "expired", cpu: 0 });
    });

    test("a create without a time of its own is told to end with its lease, and is uncertain", async () => {
      await using short = await RunningScheduler.start({ args: oneSecond });
      await short.addLedgerNode("node-a", { cpu: 4, memoryGib: 16 });
      const failure = await failureOf(
        new PlacementClient({ url: short.url }).place(TWO_CPUS, (_node, { signal }) => untilAborted(signal)),
      );
      expect(failure).toMatchObject({ code: "uncertain", sandboxId: null });
      expect(failure.message).toContain("the lease of the reservation was over");
    });

    test("without a destroy it is charged past capacity", async () => {
      await using short = await RunningScheduler.start({ args: oneSecond });
      await short.addLedgerNode("node-a", { cpu: 2, memoryGib: 16 });
      const placed = await new PlacementClient({ url: short.url }).place(TWO_CPUS, lateInto(short), patient);
      expect(await short.reservation(placed.reservation.id)).toMatchObject({ state: "confirmed", late: true, cpu: 2 });
      const [node] = await short.nodes();
      expect(node?.over_limit).toBe(true);
    });

    test("with a destroy that fails it is charged too, and the error names it", async () => {
      await using short = await RunningScheduler.start({ args: oneSecond });
      await short.addLedgerNode("node-a", { cpu: 2, memoryGib: 16 });
      const failure = await failureOf(
        new PlacementClient({ url: short.url }).place(TWO_CPUS, lateInto(short), {
          ...patient,
          destroy: async () => Promise.reject(new Error("no route to host")),
        }),
      );
      expect(failure).toMatchObject({ code: "expired", sandboxId: `sandbox-${names}` });
      expect(failure.message).toContain("no route to host");
      expect(await short.reservation(failure.reservation?.id ?? "")).toMatchObject({ state: "confirmed", late: true });
    });
  });
});

describe("calls and answers that get lost", () => {
  beforeAll(async () => {
    scheduler = await RunningScheduler.start({ args: ["--placement-reservation-ttl", "2s"] });
  });
  afterAll(async () => scheduler[Symbol.asyncDispose]());
  beforeEach(async () => scheduler.addLedgerNode("node-a", { cpu: 64, memoryGib: 256 }));

  const pendingNow = async (): Promise<number> =>
    (await scheduler.nodes()).reduce((sum, { reservations }) => sum + reservations.pending, 0);

  test("a lost answer to a schedule is asked for again, not reserved for twice", async () => {
    const before = await pendingNow();
    await using proxy = await LossyProxy.open(scheduler.url, (verb, nth) =>
      verb === "schedule" && nth === 1 ? "lose_answer" : "pass",
    );
    const { reservation } = await new PlacementClient({ url: proxy.url }).schedule(TWO_CPUS);
    const [first, second] = proxy.to("schedule");
    expect(first?.body.request_id).toMatch(/^rq_[\w-]{22}$/);
    expect(second?.body).toEqual(first?.body);
    expect(await pendingNow()).toBe(before + 1);
    expect(reservation?.state).toBe("pending");
  });

  /** A proxy that loses the first answer to a schedule, after `verb` has been said of its reservation. */
  const losingAfter = (verb: "uncertain" | "cancel"): Promise<LossyProxy> =>
    LossyProxy.open(scheduler.url, (each, nth) => (each === "schedule" && nth === 1 ? "lose_answer" : "pass"), {
      async beforeLosing(answer) {
        const { id } = (answer as { reservation: { id: string } }).reservation;
        await scheduler.call(`/v1/reservations/${id}/${verb}`, {});
      },
    });

  test("one that the scheduler noticed, and marked uncertain, is taken back before the create begins", async () => {
    await using proxy = await losingAfter("uncertain");
    await new PlacementClient({ url: proxy.url }).place(TWO_CPUS, async (_node, { reservation }) => {
      expect(reservation.uncertain).toBe(true);
      expect(await scheduler.reservation(reservation.id)).toMatchObject({ state: "pending", uncertain: false });
      return newSandbox();
    });
    expect(proxy.to("schedule")).toHaveLength(2);
  });

  test("one whose reservation has ended meanwhile creates nothing", async () => {
    await using proxy = await losingAfter("cancel");
    const failure = await failureOf(
      new PlacementClient({ url: proxy.url }).place(TWO_CPUS, async () => {
        throw new Error("it must not begin");
      }),
    );
    expect(failure).toMatchObject({ code: "expired", sandboxId: null, reservation: { state: "cancelled" } });
  });

  test("each attempt of place has a request id of its own", async () => {
    await scheduler.addLedgerNode("node-b", { cpu: 64, memoryGib: 256 });
    await using proxy = await LossyProxy.open(scheduler.url, () => "pass");
    let tries = 0;
    await new PlacementClient({ url: proxy.url }).place(TWO_CPUS, async () => {
      if (++tries === 1) throw new CreateRefused("no");
      return newSandbox();
    });
    const ids = proxy.to("schedule").map(({ body }) => body.request_id);
    expect(new Set(ids).size).toBe(2);
  });

  test.each(["lose_request", "lose_answer", 502] as const)("a confirm is repeated (%s)", async (fate) => {
    await using proxy = await LossyProxy.open(scheduler.url, (verb, nth) =>
      verb === "confirm" && nth <= 2 ? fate : "pass",
    );
    const sandboxId = newSandbox();
    const placed = await new PlacementClient({ url: proxy.url }).place(TWO_CPUS, async () => sandboxId);
    expect(proxy.to("confirm")).toHaveLength(3);
    const reservation = await scheduler.reservation(placed.reservation.id);
    expect(reservation).toMatchObject({ state: "confirmed", sandbox_id: sandboxId, late: false });
  });

  test("an abort while the schedule is under way leaves nothing reserved", async () => {
    const abort = new AbortController();
    await using proxy = await LossyProxy.open(scheduler.url, () => "pass", {
      async beforePassing(verb) {
        // The scheduler has reserved, and its answer is on its way.
        if (verb === "schedule") abort.abort(new Error("the tab was closed"));
      },
    });
    const placing = new PlacementClient({ url: proxy.url }).place(TWO_CPUS, newSandboxAsync, { signal: abort.signal });
    const failure = await failureOf(placing);
    expect(failure).toMatchObject({ code: "aborted", sandboxId: null });
    const { id = "" } = failure.reservation ?? {};
    expect(await scheduler.reservation(id)).toMatchObject({ state: "cancelled", reason: "client_gone", cpu: 0 });
  });

  test("a confirm that is not answered until the lease ends: `unconfirmed`, with the sandbox's id", async () => {
    await using proxy = await LossyProxy.open(scheduler.url, (verb) => (verb === "confirm" ? "lose_request" : "pass"));
    const sandboxId = newSandbox();
    const failure = await failureOf(new PlacementClient({ url: proxy.url }).place(TWO_CPUS, async () => sandboxId));
    expect(failure).toMatchObject({ code: "unconfirmed", sandboxId });
    expect(proxy.to("confirm").length).toBeGreaterThan(2);
  });

  test("a scheduler that forgot the reservation: `not_found`, with the sandbox's id", async () => {
    await using forgetful = await RunningScheduler.start();
    await forgetful.addLedgerNode("node-a", { cpu: 4, memoryGib: 16 });
    const sandboxId = newSandbox();
    const { port } = forgetful;
    let successor: RunningScheduler | null = null;
    const failure = await failureOf(
      new PlacementClient({ url: forgetful.url }).place(TWO_CPUS, async () => {
        await forgetful.stop();
        successor = await RunningScheduler.start({ port });
        return sandboxId;
      }),
    );
    await (successor as RunningScheduler | null)?.[Symbol.asyncDispose]();
    expect(failure).toMatchObject({ code: "not_found", status: 404, sandboxId });
  });

  test("one that takes the connection and never answers: `timeout`, within the time that was given for all", async () => {
    const silent = createServer(() => undefined).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const address = silent.address();
    const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    const thrown = await new PlacementClient({ url, withinMs: 200 })
      .schedule(TWO_CPUS)
      .catch((error: unknown) => error);
    silent.closeAllConnections();
    silent.close();
    expect(thrown).toMatchObject({ code: "timeout", status: null });
    // Not the 5 s of a single try.
    expect((thrown as Error).message).toMatch(/did not answer within 0\.(1\d*|2) s$/);
  });

  test("no scheduler at all: `unreachable`, after the time that was given", async () => {
    const proxy = await LossyProxy.open(scheduler.url, () => "pass");
    const { url } = proxy;
    await proxy[Symbol.asyncDispose]();
    const nobody = new PlacementClient({ url, withinMs: 300 });
    const thrown = await nobody.schedule(TWO_CPUS).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(PlacementError);
    expect(thrown).toMatchObject({ code: "unreachable", status: null });
    expect((thrown as Error).message).toContain("ECONNREFUSED");
  });
});

const newSandboxAsync = async (): Promise<string> => newSandbox();

function leaseMs({ created_at, expires_at }: { created_at: string; expires_at: string | null }): number {
  return expires_at === null ? 0 : Date.parse(expires_at) - Date.parse(created_at);
}
