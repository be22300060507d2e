import { afterAll, beforeAll, expect, test } from "vitest";
import { coldSandbox, freshNode, type RunningApi, startApi } from "./running-api.ts";

let api: RunningApi;

beforeAll(async () => {
  api = await startApi({ flags: { reportTtl: "1h" } });
});
afterAll(() => api[Symbol.asyncDispose]());

async function samples(query = ""): Promise<Map<string, number>> {
  const { text } = await api.get(`/metrics${query}`);
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]),
  );
}

const TABLE = [
  "schedule_duration_seconds",
  "schedule_assignments_total",
  "observed_nodes",
  "node_conditions",
  "reservations",
  "reservation_transitions_total",
  "reservation_transition_duration_seconds",
  "reservation_age_seconds",
  "capacity_rejections_total",
  "orphaned_confirmations_total",
  "late_confirmations_total",
  "reservations_expired_total",
  "node_identity_conflicts_total",
  "duplicate_sandboxes_total",
  "mailbox_depth",
  "mailbox_rejected_total",
];

test("every metric of the table is there from the start, with its type", async () => {
  const { text, headers } = await api.get("/metrics");
  expect(headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  for (const name of TABLE)
    expect(text, name).toMatch(new RegExp(`^# TYPE evenkeel_${name} (counter|gauge|histogram)$`, "m"));
});

test("they count what happened", async () => {
  for (const name of ["n1", "n2"]) await api.post(`/v1/nodes/${name}/heartbeat`, freshNode(name));
  await api.post("/v1/schedule", {});
  const first = (await api.post("/v1/schedule", { ...coldSandbox(4, 1024), request_id: "r" })).body.reservation;
  await api.post("/v1/schedule", { ...coldSandbox(4, 1024), request_id: "r" });
  const second = (await api.post("/v1/schedule", coldSandbox(4, 1024))).body.reservation;
  await api.post("/v1/schedule", coldSandbox(100, 1));
  await api.post(`/v1/reservations/${first.token}/confirm`, { sandbox_id: "s1" });
  await api.post(`/v1/reservations/${first.token}/confirm`, { sandbox_id: "s1" });
  await api.post(`/v1/reservations/${first.token}/confirm`, { sandbox_id: "s2" });
  await api.post(`/v1/reservations/${second.token}/renew`);
  await api.post(`/v1/reservations/rt_nobody/cancel`);
  await api.post(`/v1/nodes/n2/cordon`);
  for (const [node, sandbox] of [
    ["n1", "s7"],
    ["n2", "s7"],
  ] as const) {
    await api.post(`/v1/nodes/${node}/heartbeat`, freshNode(node, { sandbox_ids: [sandbox] }));
  }
  const now = await samples();
  const expected: Readonly<Record<string, number>> = {
    'schedule_duration_seconds_count{strategy="least_loaded",status="ok"}': 4,
    'schedule_duration_seconds_count{strategy="least_loaded",status="no_nodes"}': 1,
    'schedule_assignments_total{strategy="least_loaded"}': 3,
    'observed_nodes{status="READY"}': 2,
    'observed_nodes{status="UNHEALTHY"}': 0,
    'node_conditions{condition="CPU_PRESSURE"}': 0,
    'reservations{state="pending"}': 1,
    'reservations{state="confirmed"}': 1,
    [`reservations{state="pending",node_id="${second.node_id}"}`]: 1,
    [`reservations{state="confirmed",node_id="${first.node_id}"}`]: 1,
    'reservation_transitions_total{transition="reserve",result="ok"}': 2,
    'reservation_transitions_total{transition="reserve",result="replay"}': 1,
    'reservation_transitions_total{transition="confirm",result="ok"}': 1,
    'reservation_transitions_total{transition="confirm",result="replay"}': 1,
    'reservation_transitions_total{transition="confirm",result="conflict"}': 1,
    'reservation_transitions_total{transition="renew",result="ok"}': 1,
    'reservation_transitions_total{transition="cancel",result="not_found"}': 1,
    'reservation_transition_duration_seconds_count{transition="confirm"}': 3,
    'reservation_transition_duration_seconds_count{transition="reserve"}': 4,
    'capacity_rejections_total{reason="insufficient cpu"}': 1,
    'capacity_rejections_total{reason="cordoned"}': 0,
    duplicate_sandboxes_total: 1,
    'mailbox_depth{actor="placement"}': 0,
    'mailbox_rejected_total{actor="placement"}': 0,
  };
  for (const [series, value] of Object.entries(expected)) expect(now.get(`evenkeel_${series}`), series).toBe(value);
});

test("the end of a life is observed once, by its state, and series of a node go with what they count", async () => {
  const live = (await api.get("/v1/reservations")).body.reservations;
  for (const { id, state } of live) if (state === "pending") await api.post(`/v1/reservations/${id}/cancel`);
  await api.call("DELETE", "/v1/sandboxes/s1");
  const now = await samples();
  expect(now.get('evenkeel_reservation_age_seconds_count{state="cancelled"}')).toBe(1);
  expect(now.get('evenkeel_reservation_age_seconds_count{state="released"}')).toBe(1);
  expect(now.get('evenkeel_reservations{state="pending"}')).toBe(0);
  expect([...now.keys()].filter((series) => series.includes("node_id="))).toEqual([]);
});

test("beyond 1 000 nodes, reservations by node are shown when asked for only", async () => {
  await Promise.all(
    Array.from({ length: 999 }, (_, index) =>
      api.post(`/v1/nodes/more-${index}/heartbeat`, freshNode(`more-${index}`)),
    ),
  );
  const { node_id: nodeId } = (await api.post("/v1/schedule", coldSandbox(1, 1))).body.reservation;
  const series = `evenkeel_reservations{state="pending",node_id="${nodeId}"}`;
  expect((await samples()).get('evenkeel_observed_nodes{status="READY"}')).toBe(1_001);
  expect((await samples()).get(series)).toBeUndefined();
  expect((await samples("?by_node=true")).get(series)).toBe(1);
});

test("a look asks placement for counts once, and for no views of nodes", async () => {
  const asked: string[] = [];
  const note = ({ message }: { readonly message: { readonly type: string } }): unknown => asked.push(message.type);
  api.scheduler.placement.events.on("answered", note);
  await samples();
  await samples("?by_node=true");
  api.scheduler.placement.events.off("answered", note);
  expect(asked.filter((type) => type !== "tick")).toEqual(["count_nodes", "count_nodes"]);
});

test("with --no-metrics none are kept: the path is not found, and the document does not list it", async () => {
  await using without = await startApi({ flags: { metrics: false } });
  const answer = await without.get("/metrics");
  expect([answer.status, answer.body.error.code]).toEqual([404, "not_found"]);
  const paths = Object.keys(JSON.parse((await without.get("/v1/openapi.json")).text).paths);
  expect([paths.includes("/metrics"), paths.includes("/v1/schedule")]).toEqual([false, true]);
  expect(without.scheduler.placement.events.eventNames()).toEqual([]);
  await without.post("/v1/nodes/n1/heartbeat", freshNode("n1"));
  expect((await without.post("/v1/schedule", coldSandbox(1, 1))).status).toBe(200);
});
