import { EventEmitter } from "eventemitter3";
import { describe, expect, test } from "vitest";
import { createHandlers } from "../../../src/actors/api/handlers.ts";
import { createHttpServer, openAccess } from "../../../src/actors/api/http-server.ts";
import type { Directory } from "../../../src/actors/directory/client.ts";
import { type PlacementClient, refusalOf } from "../../../src/actors/placement/client.ts";
import { ERRORS, type ErrorCode, type Refusal, refuse } from "../../../src/messages/errors.ts";
import { fakeClock } from "../../fakes/clock.ts";
import { recordingLog } from "../../fakes/log.ts";

/** A server whose placement actor refuses everything in one way. */
function refusing(refusal: Refusal) {
  const placement: PlacementClient = {
    events: new EventEmitter(),
    ask: async () => ({ ok: false, refusal }),
    askThen: (_message, onReply) => queueMicrotask(() => onReply({ ok: false, refusal })),
    deliveryFailed: () => undefined,
    readiness: async () => ({ ready: false, waitsFor: "the log" }),
  };
  const directory: Directory = {
    tell: () => null,
    ask: async () => ({ ok: false, error: { code: "mailbox_full", message: "full" } }),
  };
  const log = recordingLog();
  const server = createHttpServer({
    handlers: createHandlers({ placement, directory }),
    metrics: { contentType: "text/plain", text: async () => "" },
    version: "1.2.3",
    access: openAccess,
    clock: fakeClock(),
    log,
  });
  return { app: server.app, log };
}

const STATUS: Readonly<Record<ErrorCode, number>> = {
  invalid_argument: 400,
  unauthenticated: 401,
  permission_denied: 403,
  not_found: 404,
  conflict: 409,
  expired: 410,
  payload_too_large: 413,
  overloaded: 429,
  internal: 500,
  no_nodes: 503,
  unavailable: 503,
};

describe("a refusal becomes the one error body, with the status of its code", () => {
  test.each(Object.keys(ERRORS) as ErrorCode[])("%s", async (code) => {
    const { app } = refusing(refuse(code, "because", { state: "pending" }));
    const answer = await app.inject({ method: "POST", url: "/v1/schedule", payload: {} });
    expect(answer.statusCode).toBe(STATUS[code]);
    expect(answer.json()).toEqual({ error: { code, message: "because", details: { state: "pending" } } });
    expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
    expect(answer.headers["retry-after"]).toBe(code === "overloaded" ? "1" : undefined);
  });

  test("a full directory refuses look-ups as overloaded", async () => {
    const { app } = refusing(refuse("internal", "not asked"));
    const answer = await app.inject({ method: "GET", url: "/v1/sandboxes/s1" });
    expect(answer.statusCode).toBe(429);
    expect(answer.json().error.code).toBe("overloaded");
  });

  test("readyz says what it waits for", async () => {
    const answer = await refusing(refuse("internal", "not asked")).app.inject({ method: "GET", url: "/readyz" });
    expect(answer.statusCode).toBe(503);
    expect(answer.json().error).toEqual({
      code: "unavailable",
      message: "the scheduler is not ready: the log",
      details: { retry: "unchanged" },
    });
  });
});

test("a handler that throws is internal, and its words are for the log only", async () => {
  const log = recordingLog();
  const handlers = createHandlers({} as never);
  const server = createHttpServer({
    handlers,
    metrics: { contentType: "text/plain", text: () => Promise.reject(new Error("rt_secret")) },
    version: "1.2.3",
    access: openAccess,
    clock: fakeClock(),
    log,
  });
  for (const url of ["/v1/reservations/rt_secret", "/metrics"]) {
    const answer = await server.app.inject({ method: "GET", url });
    expect(answer.statusCode).toBe(500);
    expect(answer.json().error.code).toBe("internal");
    expect(answer.body).not.toContain("rt_secret");
  }
  expect(log.lines.map(({ fields }) => fields)).toMatchObject([
    { route: "/v1/reservations/:token" },
    { route: "/metrics" },
  ]);
});

describe("what keeps an actor from answering is a refusal", () => {
  test.each([
    ["mailbox_full", "overloaded", {}],
    ["actor_dead", "unavailable", { retry: "unknown" }],
    ["deadline", "unavailable", { retry: "unknown" }],
    ["failed", "internal", {}],
  ] as const)("%s is %s", (code, expected, details) => {
    const refusal = refusalOf({ code, message: "placement could not handle rt_secret" });
    expect(refusal).toMatchObject({ code: expected, details });
    expect(refusal.message).not.toContain("rt_");
  });
});

describe("before a handler is reached", () => {
  const { app, log } = refusing(refuse("internal", "reached"));
  const ask = (method: string, url: string, payload?: string, headers: Record<string, string> = {}) =>
    app.inject({
      method: method as "GET",
      url,
      ...(payload === undefined ? {} : { payload, headers: { "content-type": "application/json", ...headers } }),
    });

  test.each([
    ["malformed JSON", '{"hint":', "body"],
    ["an array", "[]", "body"],
    ["null", "null", "body"],
    ["a number", "7", "body"],
    ["a __proto__ key", '{"__proto__":{"managed":false}}', "body"],
    ["a hint of null", '{"hint":null}', "hint"],
    ["a numeric string", '{"hint":{"new_cold_sandbox":{"cpu_count":"2"}}}', "hint.new_cold_sandbox.cpu_count"],
    ["true for a number", '{"hint":{"new_cold_sandbox":{"cpu_count":true}}}', "hint.new_cold_sandbox.cpu_count"],
    ["a fraction", '{"hint":{"new_sandbox":{"cpu_count":1.5}}}', "hint.new_sandbox.cpu_count"],
    ["beyond uint32", '{"hint":{"new_cold_sandbox":{"cpu_count":4294967296}}}', "hint.new_cold_sandbox.cpu_count"],
    ["a negative number", '{"hint":{"new_cold_sandbox":{"memory_mb":-1}}}', "hint.new_cold_sandbox.memory_mb"],
    ["an absurd number", '{"hint":{"new_cold_sandbox":{"memory_mb":1e300}}}', "hint.new_cold_sandbox.memory_mb"],
    ["2^53 MiB", '{"hint":{"new_cold_sandbox":{"memory_mb":9007199254740992}}}', "hint.new_cold_sandbox.memory_mb"],
    ["beyond every double", '{"hint":{"new_cold_sandbox":{"memory_mb":1e999}}}', "hint.new_cold_sandbox.memory_mb"],
    ["two hints", '{"hint":{"new_cold_sandbox":{},"new_sandbox":{}}}', "hint"],
    ["no hint in a hint", '{"hint":{"new_warm_sandbox":{}}}', "hint"],
    ["metadata that is no text", '{"hint":{"new_sandbox":{"metadata":{"a":1}}}}', "hint.new_sandbox.metadata.a"],
    ["an id with a line feed", '{"request_id":"a\\nb"}', "request_id"],
    ["an id that is too long", `{"request_id":"${"x".repeat(257)}"}`, "request_id"],
    ["a node id of null", '{"exclude_node_ids":["a",null]}', "exclude_node_ids[1]"],
  ])("%s is invalid_argument and names the field", async (_, payload, field) => {
    const answer = await ask("POST", "/v1/schedule", payload);
    expect(answer.json()).toMatchObject({ error: { code: "invalid_argument", details: { field } } });
    expect(answer.statusCode).toBe(400);
  });

  test.each([
    ["its instance is missing", "{}", "service_instance_id"],
    ["a status nobody reports", '{"service_instance_id":"i","snapshot":{"status":"UNHEALTHY"}}', "snapshot.status"],
    ["a fraction of a core", '{"service_instance_id":"i","snapshot":{"allocated_cpu":0.5}}', "snapshot.allocated_cpu"],
    [
      "null for a counter",
      '{"service_instance_id":"i","snapshot":{"create_successes":null}}',
      "snapshot.create_successes",
    ],
    [
      "2^53 bytes",
      '{"service_instance_id":"i","snapshot":{"memory_used_bytes":9007199254740992}}',
      "snapshot.memory_used_bytes",
    ],
    ["a number for a sandbox", '{"service_instance_id":"i","snapshot":{},"sandbox_ids":["a",2]}', "sandbox_ids[1]"],
    ["a roster without a snapshot", '{"service_instance_id":"i","resource":{},"sandbox_ids":[]}', "sandbox_ids"],
    [
      "a ratio above 1",
      '{"service_instance_id":"i","resource":{"utilization":{"fd":1.01}}}',
      "resource.utilization.fd",
    ],
    [
      "a ratio as text",
      '{"service_instance_id":"i","resource":{"utilization":{"cpu":"0.5"}}}',
      "resource.utilization.cpu",
    ],
    ["another inventory", '{"service_instance_id":"i","inventory":"all"}', "inventory"],
  ])("a heartbeat is refused when %s", async (_, payload, field) => {
    const answer = await ask("POST", "/v1/nodes/n1/heartbeat", payload);
    expect(answer.json()).toMatchObject({ error: { code: "invalid_argument", details: { field } } });
  });

  test("a secret in a body or a path is neither answered nor logged", async () => {
    const secret = "rt_0123456789abcdefghijklmn";
    for (const [url, payload] of [
      ["/v1/schedule", `{"request_id": ${secret}`],
      [`/v1/reservations/${secret}/confirm`, '{"sandbox_id":7}'],
      [`/v1/reservations/${secret}/confirm`, '{"sandbox_id":"s"}'],
      ["/v1/schedule", `{"managed":"${secret}"}`],
    ] as const) {
      expect((await ask("POST", url, payload)).body).not.toContain(secret.slice(8));
    }
    expect(JSON.stringify(log.lines)).not.toContain(secret.slice(8));
  });

  test("a form, or text, is no JSON: only application/json is read", async () => {
    for (const type of ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"]) {
      const answer = await ask("POST", "/v1/schedule", "{}", { "content-type": type });
      expect(answer.json()).toMatchObject({ error: { code: "invalid_argument", details: { field: "content-type" } } });
    }
  });

  test("64 KiB are read and one byte more is not; a heartbeat has 8 MiB", async () => {
    const padded = (bytes: number): string => `{}${" ".repeat(bytes - 2)}`;
    expect((await ask("POST", "/v1/schedule", padded(65_536))).json().error.message).toBe("reached");
    const answer = await ask("POST", "/v1/schedule", padded(65_537));
    expect(answer.json().error).toMatchObject({ code: "payload_too_large", details: { bytes_max: 65_536 } });
    const heartbeat = `{"service_instance_id":"i"}`;
    const padding = " ".repeat(8 * 2 ** 20 - heartbeat.length);
    expect((await ask("POST", "/v1/nodes/n/heartbeat", heartbeat + padding)).json().error.message).toBe("reached");
    expect((await ask("POST", "/v1/nodes/n/heartbeat", `${heartbeat}${padding} `)).statusCode).toBe(413);
  });

  describe("a heartbeat within 8 MiB", () => {
    const heartbeat = (more: string) => ask("POST", "/v1/nodes/n/heartbeat", `{"service_instance_id":"i",${more}}`);
    const many = (count: number, piece: (at: number) => string): string =>
      Array.from({ length: count }, (_, at) => piece(at)).join(",");
    const disk = '{"mount_point":"/","device":"/dev/vda","filesystem_type":"ext4","used_bytes":1,"total_bytes":2}';

    test("may list 100 000 sandboxes and 1 000 disks, and is told when it lists more", async () => {
      const listing = (ids: number) =>
        heartbeat(
          `"snapshot":{"disks":[${many(1_000, () => disk)}]},"sandbox_ids":[${many(ids, (at) => `"s-${at}"`)}]`,
        );
      expect((await listing(100_000)).json().error.message).toBe("reached");
      const answer = await listing(100_001);
      expect(answer.json().error.message).toBe("sandbox_ids must list at most 100000 sandboxes");
    });

    test.each([
      ["2 700 000 empty objects", `"x":[${many(2_700_000, () => "{}")}]`, "200000 values"],
      ["as many numbers as come one too many", `"x":[${many(199_997, () => "1")}],"y":1`, "200000 values"],
      ["690 000 unknown fields", many(690_000, (at) => `"${at}":0`), "20000 names in its objects"],
      ["fields that come one too many", `"x":{${many(19_999, (at) => `"${at}":0`)}}`, "20000 names in its objects"],
    ])("is refused with %s before it is parsed", async (_, more, most) => {
      const answer = await heartbeat(more);
      expect(answer.json().error).toMatchObject({
        code: "payload_too_large",
        message: `the body has more than ${most}`,
      });
    });

    test("has as much as it may", async () => {
      for (const more of [`"x":[${many(199_996, () => "1")}],"y":1`, `"x":{${many(19_998, (at) => `"${at}":0`)}}`]) {
        expect((await heartbeat(more)).json().error.message).toBe("reached");
      }
    });
  });

  test.each([
    ['{"__proto__":{"x":1}}'],
    ['{"x":[{"\\u005f_proto__":null}]}'],
    ['{"x":{"constructor":{"prototype":{"x":1}}}}'],
  ])("%s is refused for what it is", async (payload) => {
    const answer = await ask("POST", "/v1/schedule", payload);
    expect(answer.json().error.message).toBe(
      "the body has a name __proto__, or prototype under constructor; leave it out",
    );
  });

  test("a constructor without a prototype is a name like others", async () => {
    for (const payload of ['{"constructor":{}}', '{"constructor":null}', '{"prototype":{"constructor":1}}']) {
      expect((await ask("POST", "/v1/schedule", payload)).json().error.message).toBe("reached");
    }
  });

  test("an unknown path is not_found, in the same form", async () => {
    for (const url of ["/", "/v1", "/v2/schedule", "/v1/nodes/n1/nothing", "/v1/schedule/"]) {
      const answer = await ask("GET", url);
      expect(answer.statusCode, url).toBe(404);
      expect(answer.json().error.code).toBe("not_found");
    }
  });

  test("a path that is no UTF-8 is invalid_argument", async () => {
    const answer = await ask("GET", "/v1/nodes/%ff");
    expect(answer.statusCode).toBe(400);
    expect(answer.json().error.details).toEqual({ field: "path" });
  });

  test.each([
    ["PUT", "/v1/schedule", "POST"],
    ["GET", "/v1/schedule", "POST"],
    ["PROPFIND", "/v1/nodes", "GET, HEAD"],
    ["POST", "/v1/nodes", "GET, HEAD"],
    ["PATCH", "/v1/nodes/n1", "DELETE, GET, HEAD"],
    ["POST", "/v1/sandboxes/s1", "GET, HEAD, DELETE"],
    ["POST", "/metrics", "GET, HEAD"],
    ["DELETE", "/v1/reservations/rt_x/confirm", "POST"],
  ])("%s %s is 405 and says what is allowed", async (method, url, allowed) => {
    const answer = await ask(method, url, '{"hint":');
    expect(answer.statusCode).toBe(405);
    expect(answer.headers.allow).toBe(allowed);
    expect(answer.json().error.code).toBe("invalid_argument");
  });

  test("HEAD answers as GET does, without the body", async () => {
    const answer = await ask("HEAD", "/healthz");
    expect(answer.statusCode).toBe(200);
    expect(answer.body).toBe("");
  });
});
