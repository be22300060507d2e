import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect, type Server, type Socket } from "node:net";
import { connect as connectSecure } from "node:tls";
import { describe, expect, test, vi } from "vitest";
import { SharedConnections } from "../../../src/actors/api/shared-connections.ts";
import { createAuthority } from "../../fakes/certificate.ts";

const { cert, key } = createAuthority("of shared connections").issue("scheduler");
const CONNECTIONS_MAX = 3;

async function listening(server: Server): Promise<number> {
  server.listen({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

describe.each([
  ["plain text", () => createServer(), (port: number): Socket => connect(port, "127.0.0.1"), "connect"],
  [
    "TLS",
    () => createSecureServer({ cert, key }),
    (port: number): Socket => connectSecure({ port, host: "127.0.0.1", rejectUnauthorized: false }),
    "secureConnect",
  ],
] as const)("servers that share a bound, in %s,", (_, create, open, ready) => {
  test("hold as many connections together as one would, and take others when those end", async () => {
    const counts = new Int32Array(new SharedArrayBuffer(8));
    const servers = [create(), create()];
    servers.forEach((server, own) => {
      new SharedConnections({ counts, own, connectionsMax: CONNECTIONS_MAX }).watch(server);
    });
    const [first = 0, second = 0] = await Promise.all(servers.map(listening));
    const opened: Socket[] = [];
    for (const port of [first, first, second]) {
      const socket = open(port);
      await once(socket, ready);
      opened.push(socket);
    }
    expect([...counts]).toEqual([2, 1]);
    for (const port of [first, second]) {
      const refused = open(port).on("error", () => undefined);
      await new Promise((closed) => refused.once("close", closed));
    }
    await vi.waitFor(() => expect([...counts]).toEqual([2, 1]));

    opened.shift()?.destroy();
    await vi.waitFor(() => expect([...counts]).toEqual([1, 1]));
    const next = open(second);
    await once(next, ready);
    expect([...counts]).toEqual([1, 2]);
    for (const socket of [...opened, next]) socket.destroy();
    await vi.waitFor(() => expect([...counts]).toEqual([0, 0]));
    for (const server of servers) server.close();
  });
});

describe("a next life counts from none", () => {
  test("after a thread that died", () => {
    const counts = new Int32Array(new SharedArrayBuffer(8)).fill(2);
    new SharedConnections({ counts, own: 1, connectionsMax: CONNECTIONS_MAX });
    expect([...counts]).toEqual([2, 0]);
  });

  test("in the same thread, where connections of the last one still end", async () => {
    const counts = new Int32Array(new SharedArrayBuffer(4));
    const last = new SharedConnections({ counts, own: 0, connectionsMax: CONNECTIONS_MAX });
    const server = createServer();
    last.watch(server);
    const socket = connect(await listening(server), "127.0.0.1");
    const [[accepted]] = (await Promise.all([once(server, "connection"), once(socket, "connect")])) as [
      [Socket],
      unknown,
    ];
    last.release();
    new SharedConnections({ counts, own: 0, connectionsMax: CONNECTIONS_MAX });
    socket.destroy();
    await once(accepted, "close");
    expect([...counts]).toEqual([0]);
    server.close();
  });
});
