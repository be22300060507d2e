import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ERRORS } from "../../../src/messages/errors.ts";
import { type ApiAnswer, coldSandbox, freshNode, type RunningApi, startApi } from "./running-api.ts";

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, { content?: Record<string, { schema: object }>; headers?: object }>>;
  readonly requestBody?: { readonly content: { readonly "application/json": { readonly schema: object } } };
}

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

let api: RunningApi;
let document: Document;
/** Every answer that was checked, as `operationId status code`. */
const seen = new Set<string>();

beforeAll(async () => {
  api = await startApi();
  document = JSON.parse((await api.get("/v1/openapi.json")).text) as Document;
});
afterAll(() => api[Symbol.asyncDispose]());

/** Ajv resolves `#/components/…` within a root that holds them. */
function validatorOf(schema: object): (value: unknown) => string | null {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  const validate = ajv.compile({ ...schema, components: document.components });
  return (value) => (validate(value) ? null : ajv.errorsText(validate.errors));
}

function operationOf(template: string, method: string): Operation {
  const operation = document.paths[template]?.[method.toLowerCase()];
  if (operation === undefined) throw new Error(`${method} ${template} is not in the document`);
  return operation;
}

/** Calls and holds the answer to what the document says of it. */
async function checked(method: string, template: string, call: Call = {}): Promise<ApiAnswer> {
  const operation = operationOf(template, method);
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(call.params?.[name] ?? ""));
  const answer = await api.call(method, `${path}${call.query ?? ""}`, call.body);
  const described = operation.responses[String(answer.status)];
  expect(described, `${operation.operationId} answered ${answer.status}: ${answer.text}`).toBeDefined();
  const schema = described?.content?.["application/json"]?.schema;
  if (schema !== undefined) expect(validatorOf(schema)(answer.body)).toBeNull();
  else if (described?.content === undefined) expect(answer.text).toBe("");
  const code = answer.status >= 400 ? answer.body.error.code : "ok";
  if (answer.status >= 400) expect(answer.status).toBe(ERRORS[code as keyof typeof ERRORS].httpStatus);
  seen.add(`${operation.operationId} ${answer.status} ${code}`);
  return answer;
}

interface Call {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: unknown;
}

describe("the served OpenAPI document", () => {
  test("is OpenAPI 3.1 whose references lead somewhere and whose path parameters are all described", () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, target]) => target);
    const names = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
    expect([...new Set(references)].filter((target) => !names.includes(target ?? ""))).toEqual([]);
    for (const [path, operations] of Object.entries(document.paths)) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const operation of Object.values(operations) as (Operation & {
        parameters?: { name: string; in: string }[];
      })[]) {
        const described = (operation.parameters ?? []).filter((each) => each.in === "path").map(({ name }) => name);
        expect(described).toEqual(inPath);
      }
    }
  });

  test("has a JSON Schema in every place that compiles", () => {
    for (const operations of Object.values(document.paths)) {
      for (const { responses, requestBody } of Object.values(operations)) {
        const schemas = [requestBody?.content["application/json"].schema];
        for (const { content } of Object.values(responses)) schemas.push(content?.["application/json"]?.schema);
        for (const schema of schemas) if (schema !== undefined) expect(() => validatorOf(schema)).not.toThrow();
      }
    }
  });

  test("refuses what the server refuses, and takes what it takes", async () => {
    const body = operationOf("/v1/schedule", "post").requestBody?.content["application/json"].schema ?? {};
    const problem = validatorOf(body);
    for (const good of [{}, coldSandbox(2, 1024), { hint: { new_sandbox: {} }, managed: false, later: 1 }]) {
      expect(problem(good)).toBeNull();
    }
    const bad = [
      { hint: null },
      { hint: {} },
      { hint: { new_sandbox: {}, new_cold_sandbox: {} } },
      coldSandbox(1.5, 1024),
      coldSandbox(-1, 1024),
      coldSandbox(1, 2 ** 53),
      { hint: { new_cold_sandbox: { cpu_count: "2" } } },
      { managed: 1 },
      { request_id: "" },
      { exclude_node_ids: "a" },
    ];
    for (const each of bad) {
      expect(problem(each), JSON.stringify(each)).not.toBeNull();
      expect((await api.post("/v1/schedule", each)).status, JSON.stringify(each)).toBe(400);
    }
  });
});

describe("every call answers as the document says", () => {
  test("process", async () => {
    expect((await checked("GET", "/healthz")).body).toEqual({ status: "ok" });
    expect((await checked("GET", "/readyz")).body).toEqual({ status: "ready" });
    await checked("GET", "/v1/openapi.json");
    expect((await checked("GET", "/metrics")).headers.get("content-type")).toMatch(/^text\/plain/);
  });

  test("nodes", async () => {
    const params = { node_id: "n1" };
    expect((await checked("POST", "/v1/nodes/{node_id}/heartbeat", { params, body: freshNode("n1") })).body).toEqual({
      generation: 1,
    });
    const resource = {
      cpu: 8,
      mem: 32 * 2 ** 30,
      xpu: [],
      features: [],
      utilization: { cpu: 0.5, memory: null, pid: 0.95, fd: 0, disk: 1 },
    };
    for (let sequence = 1; sequence <= 6; sequence++) {
      const body = { service_instance_id: "d1", resource, resource_sequence: sequence, boot_id: "b" };
      await checked("POST", "/v1/nodes/{node_id}/heartbeat", { params, body });
    }
    await checked("POST", "/v1/nodes/{node_id}/heartbeat", { params, body: { snapshot: {} } });
    const event = { sandbox_id: "s9", event_type: "CREATE", requested_cpu: 1, requested_memory_bytes: 2 ** 30 };
    const events = { service_instance_id: "n1-1", events: [event] };
    expect((await checked("POST", "/v1/nodes/{node_id}/events", { params, body: events })).body).toEqual({});
    await checked("POST", "/v1/nodes/{node_id}/events", { params, body: { events: [{}] } });
    const cordoned = await checked("POST", "/v1/nodes/{node_id}/cordon", { params, body: { reason: "broken fan" } });
    expect(cordoned.body.node).toMatchObject({ cordoned: true, cordon_reason: "broken fan", schedulable: false });
    expect(cordoned.body.node.conditions.map(({ type }) => type)).toEqual(["PID_PRESSURE", "DISK_PRESSURE"]);
    await checked("POST", "/v1/nodes/{node_id}/cordon", { params: { node_id: "nobody" } });
    await checked("POST", "/v1/nodes/{node_id}/uncordon", { params: { node_id: "nobody" } });
    await checked("POST", "/v1/nodes/{node_id}/uncordon", { params, body: {} });
    const clear = "/v1/nodes/{node_id}/conditions/{type}/clear";
    await checked("POST", clear, { params: { ...params, type: "DISK_PRESSURE" } });
    const cleared = await checked("POST", clear, { params: { ...params, type: "PID_PRESSURE" } });
    expect(cleared.body.node).toMatchObject({ conditions: [], schedulable: true });
    await checked("POST", clear, { params: { ...params, type: "SUN_PRESSURE" } });
    await checked("POST", clear, { params: { node_id: "nobody", type: "CPU_PRESSURE" } });
    await checked("GET", "/v1/nodes");
    await checked("GET", "/v1/nodes/{node_id}", { params });
    await checked("GET", "/v1/nodes/{node_id}", { params: { node_id: "nobody" } });
  });

  test("placement", async () => {
    const schedule = (body: unknown): Promise<ApiAnswer> => checked("POST", "/v1/schedule", { body });
    const move = (verb: string, token: string, body?: unknown): Promise<ApiAnswer> =>
      checked("POST", `/v1/reservations/{token}/${verb}`, { params: { token }, body });
    expect((await schedule({})).body.reservation).toBeNull();
    const first = (await schedule({ ...coldSandbox(2, 4096), request_id: "r1" })).body;
    expect(first.node).toEqual({ node_id: "n1", endpoint: "http://n1.example:8000" });
    expect(first.reservation).toMatchObject({ state: "pending", cpu: 2, memory_bytes: 4 * 2 ** 30, sandbox_id: null });
    expect((await schedule({ ...coldSandbox(2, 4096), request_id: "r1" })).body).toEqual(first);
    expect((await schedule({ ...coldSandbox(1, 4096), request_id: "r1" })).body.error.details.state).toBe("pending");
    await schedule(coldSandbox(100, 1));
    await schedule({ hint: 1 });
    const { token, id } = first.reservation;

    await move("renew", token);
    await move("uncertain", token, { reason: "timeout" });
    await move("uncertain", token, {});
    expect((await checked("GET", "/v1/reservations/{token}", { params: { token } })).body.reservation.token).toBe(
      token,
    );
    expect(
      (await checked("GET", "/v1/reservations/{token}", { params: { token: id } })).body.reservation,
    ).not.toHaveProperty("token");
    expect((await move("confirm", token, { sandbox_id: "s1" })).body.reservation.state).toBe("confirmed");
    expect((await move("confirm", token, { sandbox_id: "s2" })).body.error.details.state).toBe("confirmed");
    await move("confirm", token, {});
    expect((await move("cancel", token)).status).toBe(409);
    expect((await move("renew", token)).status).toBe(409);
    expect((await move("uncertain", token)).status).toBe(409);
    for (const verb of ["confirm", "cancel", "renew", "uncertain"]) await move(verb, "rt_nobody", { sandbox_id: "s3" });
    await checked("GET", "/v1/reservations/{token}", { params: { token: "rs_nobody" } });

    const second = (await schedule({ hint: { new_sandbox: {} }, managed: false })).body.reservation;
    expect(second).toMatchObject({ token: null, managed: false });
    expect((await move("cancel", second.id, { reason: "failed" })).body.reservation).toMatchObject({
      state: "cancelled",
      reason: "failed",
      expires_at: null,
    });

    const listed = await checked("GET", "/v1/reservations", { query: "?node_id=n1&limit=1" });
    expect(listed.body.reservations).toHaveLength(1);
    const all = await checked("GET", "/v1/reservations", { query: "?state=cancelled" });
    expect(all.body.reservations.map((each) => each.id)).toEqual([second.id]);
    for (const query of ["?limit=0", "?limit=10001", "?limit=1e3", "?state=lost"]) {
      expect((await checked("GET", "/v1/reservations", { query })).status).toBe(400);
    }
  });

  test("sandboxes", async () => {
    const path = "/v1/sandboxes/{sandbox_id}";
    const found = await checked("GET", path, { params: { sandbox_id: "s1" } });
    expect(found.body).toEqual({ node: { node_id: "n1", endpoint: "http://n1.example:8000" } });
    expect((await checked("DELETE", path, { params: { sandbox_id: "s1" } })).status).toBe(204);
    expect((await checked("DELETE", path, { params: { sandbox_id: "never-seen" } })).status).toBe(204);
    expect((await checked("GET", path, { params: { sandbox_id: "s1" } })).status).toBe(404);
    expect((await checked("DELETE", path, { params: { sandbox_id: "x".repeat(257) } })).status).toBe(400);
    const record = (endpoint: string) =>
      checked("POST", `${path}/assignment`, { params: { sandbox_id: "s9" }, body: { node_id: "n1", endpoint } });
    expect((await record("http://elsewhere:8000")).status).toBe(400);
    expect((await record("http://n1.example:8000")).status).toBe(200);
    const recorded = await checked("GET", path, { params: { sandbox_id: "s9" } });
    expect(recorded.body).toEqual({ node: { node_id: "n1", endpoint: "http://n1.example:8000" } });
  });

  test("a node that says goodbye", async () => {
    const params = { node_id: "n1" };
    expect(
      (await checked("DELETE", "/v1/nodes/{node_id}", { params, query: "?service_instance_id=other" })).status,
    ).toBe(409);
    expect((await checked("DELETE", "/v1/nodes/{node_id}", { params })).status).toBe(400);
    expect(
      (await checked("DELETE", "/v1/nodes/{node_id}", { params, query: "?service_instance_id=n1-1" })).status,
    ).toBe(204);
  });

  test("a body beyond its bound", async () => {
    const long = { body: `{"reason":"${"x".repeat(64 * 2 ** 10)}"}` };
    for (const verb of ["confirm", "cancel", "renew", "uncertain"]) {
      expect(
        (await checked("POST", `/v1/reservations/{token}/${verb}`, { params: { token: "rt_x" }, ...long })).status,
      ).toBe(413);
    }
    const params = { node_id: "n1", type: "CPU_PRESSURE" };
    for (const path of [
      "/v1/schedule",
      "/v1/nodes/{node_id}/events",
      "/v1/nodes/{node_id}/cordon",
      "/v1/nodes/{node_id}/conditions/{type}/clear",
    ]) {
      expect((await checked("POST", path, { params, ...long })).status).toBe(413);
    }
  });

  test("and every call of the document has been walked, in its good and in its refused form", () => {
    const operations = Object.values(document.paths).flatMap((each) => Object.values(each));
    const walked = (status: RegExp): string[] =>
      operations
        .map(({ operationId }) => operationId)
        .filter((id) => ![...seen].some((line) => status.test(line) && line.startsWith(`${id} `)));
    expect(walked(/ 20[04] ok$/)).toEqual([]);
    // Process calls and the list of nodes take nothing that could be wrong.
    expect(walked(/ 4\d\d /).sort()).toEqual(["healthz", "listNodes", "metrics", "openapi", "readyz"]);
  });
});
