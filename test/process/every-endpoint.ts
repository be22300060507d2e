/** One long conversation with a scheduler, in which every endpoint is called well and wrongly. */
import { ENDPOINTS } from "../../src/messages/http/endpoints.ts";
import { callFresh, type FreshAnswer } from "../unit/api/fresh-call.ts";

export interface Step {
  readonly call: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  /** With what differs between two runs named by its order of appearance. */
  readonly body: string;
}

const COMPARED_HEADERS = ["content-type", "content-length", "allow", "retry-after", "www-authenticate"];

const GIB = 2 ** 30;
const node = (nodeId: string, more: object = {}): object => ({
  endpoint: `http://${nodeId}.example:8000`,
  service_instance_id: `${nodeId}-1`,
  sequence: 1,
  snapshot: { cpu_count: 8, memory_total_bytes: 32 * GIB },
  sandbox_ids: [],
  ...more,
});
const cold = (cpuCount: number, more: object = {}): object => ({
  hint: { new_cold_sandbox: { cpu_count: cpuCount, memory_mb: 1024 } },
  ...more,
});

/** Holds the conversation, each call on a connection of its own. What is said does not depend on names that are drawn. */
export async function callEveryEndpoint(url: string): Promise<{ steps: Step[]; missed: string[] }> {
  const steps: Step[] = [];
  const named = new Map<string, string>();
  const called = new Set<string>();

  const call = async (method: string, path: string, body?: unknown): Promise<FreshAnswer> => {
    const answer = await callFresh(url, { method, path, body });
    called.add(`${method.toLowerCase()} ${path.split("?")[0]}`);
    steps.push({
      call: `${method} ${withNames(path, named)}`,
      status: answer.status,
      headers: Object.fromEntries(COMPARED_HEADERS.map((name) => [name, answer.headers[name]])),
      body: withNames(answer.text, named),
    });
    return answer;
  };
  const schedule = async (body: object): Promise<{ readonly id: string; readonly token: string }> => {
    const { text } = await call("POST", "/v1/schedule", body);
    return (JSON.parse(text) as { readonly reservation: { readonly id: string; readonly token: string } }).reservation;
  };

  await call("GET", "/healthz");
  await call("GET", "/readyz");
  await call("HEAD", "/readyz");
  await call("GET", "/v1/openapi.json");
  await call("GET", "/nowhere");
  await call("PATCH", "/v1/schedule", {});
  await call("POST", "/v1/schedule", cold(1));
  for (const nodeId of ["n1", "n2"]) await call("POST", `/v1/nodes/${nodeId}/heartbeat`, node(nodeId));
  await call("POST", "/v1/nodes/n1/heartbeat", { endpoint: 1 });
  await call("POST", "/v1/nodes/n3/heartbeat", { service_instance_id: "n3-1" });
  await call("POST", "/v1/nodes/n1/heartbeat", "{");
  await call("POST", "/v1/schedule", {});
  await call("POST", "/v1/schedule", { hint: {} });
  await call("POST", "/v1/schedule", JSON.stringify({ padding: "x".repeat(100_000) }));
  await call("POST", "/v1/schedule", cold(100));

  const first = await schedule(cold(2));
  await call("GET", `/v1/reservations/${first.token}`);
  await call("POST", `/v1/reservations/${first.token}/renew`, {});
  await call("POST", `/v1/reservations/${first.id}/uncertain`, { reason: "failed" });
  await call("POST", `/v1/reservations/${first.token}/confirm`, { sandbox_id: "s1" });
  await call("POST", `/v1/reservations/${first.token}/confirm`, { sandbox_id: "s1" });
  await call("POST", `/v1/reservations/${first.token}/confirm`, { sandbox_id: "other" });
  await call("POST", `/v1/reservations/${first.token}/confirm`, {});
  await call("GET", "/v1/sandboxes/s1");

  const second = await schedule(cold(2, { request_id: "again" }));
  await schedule(cold(2, { request_id: "again" }));
  await call("POST", "/v1/schedule", cold(3, { request_id: "again" }));
  await call("POST", `/v1/reservations/${second.token}/cancel`, { reason: "refused" });
  await call("POST", `/v1/reservations/${second.token}/cancel`, {});
  await call("POST", `/v1/reservations/${second.token}/renew`, {});
  await call("POST", "/v1/reservations/rt_unknown/cancel", {});
  await schedule(cold(1, { exclude_node_ids: ["n2"] }));
  await schedule(cold(1, { exclude_node_ids: ["n1"] }));
  await call("GET", "/v1/reservations?node_id=n1");
  await call("GET", "/v1/reservations?state=cancelled&limit=1");
  await call("GET", "/v1/reservations?state=nonsense");

  const running = { allocated_cpu: 2, allocated_memory_bytes: GIB, sandbox_count: 1 };
  const snapshot = { cpu_count: 8, memory_total_bytes: 32 * GIB, ...running };
  await call("POST", "/v1/nodes/n2/heartbeat", node("n2", { sequence: 2, snapshot, sandbox_ids: ["s9"] }));
  const created = { sandbox_id: "s9", event_type: "CREATE", requested_cpu: 2, requested_memory_bytes: GIB };
  await call("POST", "/v1/nodes/n2/events", { service_instance_id: "n2-1", events: [created] });
  await call("POST", "/v1/sandboxes/s8/assignment", { node_id: "n2", endpoint: "http://n2.example:8000" });
  await call("POST", "/v1/sandboxes/s8/assignment", { node_id: "n2", endpoint: "http://elsewhere" });
  for (const sandboxId of ["s1", "s8", "s9", "unknown"]) await call("GET", `/v1/sandboxes/${sandboxId}`);
  await call("DELETE", "/v1/sandboxes/s1");
  await call("GET", "/v1/sandboxes/s1");

  await call("POST", "/v1/nodes/n1/cordon", { reason: "repair" });
  await call("POST", "/v1/schedule", cold(7));
  await call("POST", "/v1/nodes/n1/uncordon", {});
  await call("POST", "/v1/nodes/n1/conditions/memory/clear", {});
  await call("POST", "/v1/nodes/n1/conditions/nonsense/clear", {});
  await call("GET", "/v1/nodes");
  await call("GET", "/v1/nodes/n2");
  await call("GET", "/v1/nodes/unknown");
  await call("DELETE", "/v1/nodes/n2?service_instance_id=another");
  await call("DELETE", "/v1/nodes/n2?service_instance_id=n2-1");
  await call("GET", "/v1/nodes");
  return { steps, missed: missedOf(called) };
}

/** Endpoints of the table that nobody called. */
function missedOf(called: ReadonlySet<string>): string[] {
  const paths = [...called];
  return Object.entries(ENDPOINTS).flatMap(([name, { method, path }]) => {
    const pattern = new RegExp(`^${method} ${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
    return paths.some((each) => pattern.test(each)) ? [] : [name];
  });
}

/** Tokens and ids by their order of appearance, so that the same one is the same everywhere; times as one word. */
function withNames(text: string, named: Map<string, string>): string {
  return text
    .replaceAll(/\b(rt|rs)_[\w-]{16,}/g, (drawn, kind: string) => {
      const name = named.get(drawn) ?? `${kind}_${named.size}`;
      named.set(drawn, name);
      return name;
    })
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "TIME");
}
