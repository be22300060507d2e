import { request } from "node:https";
import type { TLSSocket } from "node:tls";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { PlacementClient } from "../../../src/client/index.ts";
import { SchedulerService } from "../../../src/messages/proto/generated/scheduler/v1/scheduler.ts";
import { systemClock } from "../../../src/ports/clock.ts";
import { systemRandom } from "../../../src/ports/random.ts";
import { createHttpScheduler } from "../../../src/programs/gateway-scheduler.ts";
import { createAuthority } from "../../fakes/certificate.ts";
import { RunningServers } from "./running-servers.ts";

const authority = createAuthority("evenkeel test authority");
const clients = createAuthority("authority of clients");
const server = authority.issue("scheduler");
const ours = clients.issue("a gateway");
const stranger = createAuthority("another").issue("a stranger");
const TOKEN = "client-token-0123456789";

interface Shown {
  readonly status: number;
  /** Common name of the server's certificate. */
  readonly name: unknown;
}

/** One HTTPS request on a connection of its own. Rejects with the code of what failed. */
function get(port: number, options: { ca?: string; cert?: string; key?: string } = {}): Promise<Shown> {
  return new Promise((resolve, reject) => {
    const sent = request({ ...options, port, host: "127.0.0.1", path: "/healthz", agent: false }, (response) => {
      const { subject } = (response.socket as TLSSocket).getPeerCertificate();
      response.resume().on("end", () => resolve({ status: response.statusCode ?? 0, name: subject.CN }));
    });
    sent.on("error", (error: NodeJS.ErrnoException) => reject(new Error(error.code)));
    sent.end();
  });
}

/** Lists nodes over gRPC; null when it could. */
async function grpcProblem(address: string, tls: ReturnType<typeof credentials.createSsl>): Promise<number | null> {
  const client = new Client(address, tls);
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${TOKEN}`);
  try {
    return await new Promise((resolve) => {
      const same = (bytes: Buffer): Buffer => bytes;
      const { path } = SchedulerService.lookupNode;
      client.makeUnaryRequest(
        path,
        same,
        same,
        Buffer.from([0xff]),
        metadata,
        { deadline: Date.now() + 5_000 },
        (error) => resolve(error?.code ?? null),
      );
    });
  } finally {
    client.close();
  }
}

const INVALID_ARGUMENT = 3;
const UNAVAILABLE = 14;
const buffer = (text: string): Buffer => Buffer.from(text);

describe("with a certificate", () => {
  let servers: RunningServers;
  beforeAll(async () => {
    servers = await RunningServers.start({
      files: { tlsCert: server.cert, tlsKey: server.key, tokens: `client ${TOKEN}\n` },
      config: { nodes: [{ id: "n1", endpoint: "http://n1:8000" }], start_guard: "0s" },
    });
  });
  afterAll(() => servers[Symbol.asyncDispose]());

  test("HTTP and gRPC are served to whoever trusts its authority, and to nobody in plain text", async () => {
    expect(await get(servers.httpPort, { ca: authority.cert })).toEqual({ status: 200, name: "scheduler" });
    await expect(get(servers.httpPort)).rejects.toThrow(/UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER/);
    await expect(fetch(`http://127.0.0.1:${servers.httpPort}/healthz`)).rejects.toThrow();
    const trusting = credentials.createSsl(buffer(authority.cert));
    expect(await grpcProblem(servers.grpcAddress, trusting)).toBe(INVALID_ARGUMENT);
    expect(await grpcProblem(servers.grpcAddress, credentials.createSsl(buffer(clients.cert)))).toBe(UNAVAILABLE);
    expect(await grpcProblem(servers.grpcAddress, credentials.createInsecure())).toBe(UNAVAILABLE);
  });

  test("PlacementClient and the gateway verify it, and show their token", async () => {
    const url = `https://127.0.0.1:${servers.httpPort}`;
    const options = { url, withinMs: 0, clock: systemClock };
    const hint = { new_cold_sandbox: { cpu_count: 1 } };
    const trusting = { ...options, tls: { ca: authority.cert } };
    await expect(new PlacementClient(options).schedule({ hint })).rejects.toMatchObject({ code: "unreachable" });
    await expect(new PlacementClient(trusting).schedule({ hint })).rejects.toMatchObject({ code: "unauthenticated" });
    const { node } = await new PlacementClient({ ...trusting, token: TOKEN }).schedule({ hint });
    expect(node).toEqual({ node_id: "n1", endpoint: "http://n1:8000" });
    const gateway = createHttpScheduler({
      url,
      credentials: { token: () => TOKEN, tls: { ca: authority.cert } },
      clock: systemClock,
      random: systemRandom,
    });
    expect(await gateway.pick()).toMatchObject({ ok: true, value: { nodeId: "n1" } });
    expect(await gateway.lookup("s")).toMatchObject({ ok: false, failure: { code: "not_found" } });
  });

  test("a rotated one is shown to new connections; half of a rotation changes nothing", async () => {
    const next = authority.issue("scheduler, renewed");
    servers.rewrite("tlsCert", next.cert);
    await vi.waitFor(() => {
      if (!servers.lines.some(({ text }) => text.startsWith("the certificate in use stays as it is")))
        throw new Error();
    });
    expect((await get(servers.httpPort, { ca: authority.cert })).name).toBe("scheduler");
    servers.rewrite("tlsKey", next.key);
    await vi.waitFor(
      async () => expect((await get(servers.httpPort, { ca: authority.cert })).name).toBe("scheduler, renewed"),
      { timeout: 5_000 },
    );
    const trusting = credentials.createSsl(buffer(authority.cert));
    expect(await grpcProblem(servers.grpcAddress, trusting)).toBe(INVALID_ARGUMENT);
  });
});

describe("with an authority of clients", () => {
  let servers: RunningServers;
  beforeAll(async () => {
    servers = await RunningServers.start({
      files: { tlsCert: server.cert, tlsKey: server.key, tlsClientCa: clients.cert, tokens: `client ${TOKEN}\n` },
      config: { nodes: [{ id: "n1", endpoint: "http://n1:8000" }], start_guard: "0s" },
    });
  });
  afterAll(() => servers[Symbol.asyncDispose]());
  const ca = authority.cert;

  test("HTTP is served only to clients that show a certificate of it", async () => {
    expect((await get(servers.httpPort, { ca, cert: ours.cert, key: ours.key })).status).toBe(200);
    await expect(get(servers.httpPort, { ca })).rejects.toThrow();
    await expect(get(servers.httpPort, { ca, cert: stranger.cert, key: stranger.key })).rejects.toThrow();
    const url = `https://127.0.0.1:${servers.httpPort}`;
    const tls = { ca, cert: ours.cert, key: ours.key };
    await expect(new PlacementClient({ url, tls, token: TOKEN, withinMs: 0 }).schedule({})).resolves.toMatchObject({
      reservation: null,
    });
  });

  test("and gRPC too", async () => {
    const tls = (key: string, cert: string) => credentials.createSsl(buffer(ca), buffer(key), buffer(cert));
    expect(await grpcProblem(servers.grpcAddress, tls(ours.key, ours.cert))).toBe(INVALID_ARGUMENT);
    expect(await grpcProblem(servers.grpcAddress, tls(stranger.key, stranger.cert))).toBe(UNAVAILABLE);
    expect(await grpcProblem(servers.grpcAddress, credentials.createSsl(buffer(ca)))).toBe(UNAVAILABLE);
  });
});
