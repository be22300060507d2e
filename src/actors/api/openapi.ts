/** The OpenAPI 3.1 document: the table of endpoints in other words, so that it cannot say something else. */
import { z } from "zod";
import type { Callers } from "../../messages/callers.ts";
import { ERRORS, type ErrorCode } from "../../messages/errors.ts";
import { ENDPOINTS, type Endpoint, type EndpointName } from "../../messages/http/endpoints.ts";
import { problemSchema } from "../../messages/http/problem.ts";
import { type JsonSchema, SchemaComponents } from "./json-schema.ts";

export function createOpenApiDocument(version: string, { metrics }: { readonly metrics: boolean }): JsonSchema {
  const components = new SchemaComponents();
  const problem = components.refer(problemSchema, "output");
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const name of Object.keys(ENDPOINTS) as EndpointName[]) {
    const endpoint: Endpoint = ENDPOINTS[name];
    paths[endpoint.path] = {
      ...paths[endpoint.path],
      [endpoint.method]: operationOf(name, endpoint, components, problem),
    };
  }
  if (metrics) paths["/metrics"] = { get: METRICS };
  paths["/v1/openapi.json"] = { get: DOCUMENT };
  return {
    openapi: "3.1.0",
    info: {
      title: "evenkeel scheduler",
      version,
      description:
        "Unknown request fields are ignored. Unknown paths answer 404, wrong methods 405 with `Allow`, both with a Problem.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    paths,
    components: {
      schemas: components.schemas,
      securitySchemes: {
        token: { type: "http", scheme: "bearer", description: "Asked for where the scheduler has tokens in force." },
      },
    },
  };
}

function operationOf(
  name: string,
  { tag, summary, callers, params, query, body, answer, errors, method }: Endpoint,
  components: SchemaComponents,
  problem: JsonSchema,
): JsonSchema {
  const success: JsonSchema =
    answer === null
      ? { 204: { description: "Done." } }
      : {
          200: {
            description: "Done.",
            content: { "application/json": { schema: components.refer(answer, "output") } },
          },
        };
  return {
    operationId: name,
    tags: [tag],
    summary,
    ...(callers === "anyone" ? {} : { description: WHOSE[callers], security: [{}, { token: [] }] }),
    parameters: [...parametersOf(params, "path", components), ...parametersOf(query, "query", components)],
    ...(method === "post"
      ? {
          requestBody: {
            // An absent body is an empty one.
            required: !acceptsNothing(body),
            content: { "application/json": { schema: components.refer(body, "input") } },
          },
        }
      : {}),
    responses: {
      ...success,
      ...problemResponses(callers === "anyone" ? errors : [...errors, "unauthenticated", "permission_denied"], problem),
    },
  };
}

const WHOSE: Readonly<Record<Exclude<Callers, "anyone">, string>> = {
  client: "For client and operator tokens.",
  node: "For node tokens, where they name a node only about that one, and operator tokens.",
  "own node": "For node tokens that name the node, and operator tokens.",
  operator: "For operator tokens.",
};

function acceptsNothing(body: z.ZodType): boolean {
  return body.safeParse({}).success;
}

function parametersOf(schema: z.ZodType, place: "path" | "query", components: SchemaComponents): JsonSchema[] {
  if (!(schema instanceof z.ZodObject)) throw new TypeError(`parameters in ${place} must be an object`);
  const shape = schema.shape as Readonly<Record<string, z.ZodType>>;
  return Object.entries(shape).map(([name, parameter]) => ({
    name,
    in: place,
    required: place === "path" || !parameter.safeParse(undefined).success,
    schema: components.refer(parameter, "input"),
  }));
}

/** Several codes may share one status. */
function problemResponses(codes: readonly ErrorCode[], problem: JsonSchema): JsonSchema {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { httpStatus } = ERRORS[code];
    byStatus.set(httpStatus, [...(byStatus.get(httpStatus) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, shared]) => [
      status,
      {
        description: shared.map((code) => `\`${code}\``).join(" or "),
        ...(shared.includes("overloaded")
          ? {
              headers: {
                "Retry-After": {
                  description: "Seconds.",
                  required: true,
                  schema: { type: "string", pattern: "^[0-9]+$" },
                },
              },
            }
          : {}),
        content: {
          "application/json": {
            schema: {
              allOf: [
                problem,
                { type: "object", properties: { error: { type: "object", properties: { code: { enum: shared } } } } },
              ],
            },
          },
        },
      },
    ]),
  );
}

const METRICS: JsonSchema = {
  operationId: "metrics",
  tags: ["process"],
  summary: "Prometheus metrics.",
  parameters: [
    {
      name: "by_node",
      in: "query",
      required: false,
      schema: { type: "string", enum: ["true", "false"] },
      description: "`true`: reservations by node however many nodes there are.",
    },
  ],
  responses: {
    200: { description: "Prometheus text format 0.0.4.", content: { "text/plain": { schema: { type: "string" } } } },
  },
};

const DOCUMENT: JsonSchema = {
  operationId: "openapi",
  tags: ["process"],
  summary: "This document.",
  responses: {
    200: { description: "OpenAPI 3.1.", content: { "application/json": { schema: { type: "object" } } } },
  },
};
