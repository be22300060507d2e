import { afterAll, beforeAll, expect, test } from "vitest";
import { coldSandbox, freshNode, type RunningApi, startApi } from "../api/running-api.ts";

let api: RunningApi;
beforeAll(async () => {
  api = await startApi({ flags: { stateDir: "none", startGuard: "0s", mailboxCapacity: "4" } });
  await api.post("/v1/nodes/n1/heartbeat", freshNode("n1"));
});
afterAll(() => api[Symbol.asyncDispose]());

test("a full mailbox refuses new work and says when to come again; what closes work goes on", async () => {
  const { token } = (await api.post("/v1/schedule", coldSandbox(1, 1))).body.reservation;
  // All are asked before the actor's next turn: no more are taken than the mailbox holds.
  const { placement } = api.scheduler;
  const schedule = { type: "schedule", hint: "none", cpuMillicores: null, memoryBytes: null } as const;
  const more = { requestId: null, credential: "c", excludeNodeIds: [], managed: true } as const;
  const flood = Array.from({ length: 50 }, () => placement.ask({ ...schedule, ...more }));
  const cancel = placement.ask({ type: "cancel", handle: token, reason: null });
  const looks = [placement.readiness(), placement.ask({ type: "count_nodes", byNodeUpTo: 0 })];
  const replies = await Promise.all(flood);
  const codes = replies.map((reply) => (reply.ok ? "ok" : reply.refusal.code));
  const taken = codes.filter((code) => code === "ok").length;
  expect(taken).toBeGreaterThan(0);
  expect(taken).toBeLessThanOrEqual(4);
  expect(codes.filter((code) => code === "overloaded")).toHaveLength(50 - taken);
  expect(await cancel).toMatchObject({ ok: true, answer: { reservation: { state: "cancelled" } } });
  expect(await Promise.all(looks)).toMatchObject([{ ready: true }, { ok: true }]);

  const answers = await Promise.all(Array.from({ length: 200 }, () => api.post("/v1/schedule", {})));
  const refused = answers.filter(({ status }) => status !== 200);
  for (const { status, headers, body } of refused) {
    expect([status, headers.get("retry-after"), body.error.code]).toEqual([429, "1", "overloaded"]);
  }
  const { text } = await api.get("/metrics");
  const counted = Number(/^evenkeel_mailbox_rejected_total\{actor="placement"\} (\d+)$/m.exec(text)?.[1]);
  // The others met the bound on what waits for the log.
  expect(counted).toBeGreaterThanOrEqual(46);
  expect((await api.get("/healthz")).status).toBe(200);
});
