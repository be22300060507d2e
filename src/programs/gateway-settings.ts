import { z } from "zod";
import { countBetween } from "../messages/amounts.ts";
import { durationBetween, httpUrlSchema, oneOf, refuse, show } from "../messages/settings.ts";
import { addressSchema } from "./address.ts";
import { CREDENTIAL_SETTINGS } from "./credential-settings.ts";
import { LOG_SETTINGS } from "./daemon-settings.ts";
import type { Values } from "./options.ts";

/** A path without a slash at its end, or nothing. */
const prefixSchema: z.ZodType<string, unknown> = z.unknown().transform((given, context) => {
  if (given === "" || given === "/") return "";
  if (typeof given === "string" && /^(?:\/[A-Za-z0-9._~-]+)+\/?$/.test(given)) return given.replace(/\/$/, "");
  return refuse(context, `${show(given)} is not a path such as /proxy`);
});

export const GATEWAY_SETTINGS = {
  listen: {
    key: "listen",
    value: "HOST:PORT",
    help: "address that clients use",
    shownDefault: "127.0.0.1:8080",
    schema: addressSchema(8080).default({ host: "127.0.0.1", port: 8080 }),
  },
  admin: {
    key: "admin",
    value: "HOST:PORT",
    help: "address of the gateway's own /healthz, /readyz and /metrics",
    shownDefault: "127.0.0.1:8081",
    schema: addressSchema(8080).default({ host: "127.0.0.1", port: 8081 }),
  },
  schedulerUrl: {
    key: "scheduler",
    value: "URL",
    help: "scheduler that places sandboxes",
    shownDefault: "http://127.0.0.1:7070",
    schema: httpUrlSchema.default("http://127.0.0.1:7070"),
  },
  attemptsMax: {
    key: "max_attempts",
    value: "COUNT",
    help: "nodes that a create is tried on, 1 to 10",
    shownDefault: "3",
    schema: countBetween(1, 10).default(3),
  },
  onExpired: {
    key: "on_expired",
    value: "WHAT",
    help: "what becomes of a sandbox confirmed too late that no longer fits: keep or destroy",
    shownDefault: "keep",
    schema: oneOf(["keep", "destroy"]).default("keep"),
  },
  proxyPrefix: {
    key: "proxy_prefix",
    value: "PATH",
    help: "where nodes take requests routed by header; empty for none",
    shownDefault: "/proxy",
    schema: prefixSchema.default("/proxy"),
  },
  createTimeoutMs: {
    key: "create_timeout",
    value: "DURATION",
    help: "how long a node may take to answer a create, 1s to 1h",
    shownDefault: "90s",
    schema: durationBetween(1_000, 3_600_000).default(90_000),
  },
  answerTimeoutMs: {
    key: "answer_timeout",
    value: "DURATION",
    help: "how long a node may take until its answer to another request begins, 1s to 24h",
    shownDefault: "5m",
    schema: durationBetween(1_000, 86_400_000).default(300_000),
  },
  drainMs: {
    key: "drain",
    value: "DURATION",
    help: "how long running requests may finish once it is told to stop, 0s to 1h",
    shownDefault: "30s",
    schema: durationBetween(0, 3_600_000).default(30_000),
  },
  connectionsMax: {
    key: "connections_max",
    value: "COUNT",
    help: "connections of clients at a time; further ones are closed",
    shownDefault: "10000",
    schema: countBetween(1, 1_000_000).default(10_000),
  },
  ...CREDENTIAL_SETTINGS,
  ...LOG_SETTINGS,
} as const;

export type GatewaySettings = Values<typeof GATEWAY_SETTINGS>;
