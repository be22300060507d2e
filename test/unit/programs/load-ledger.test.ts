import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { UnreachableError } from "../../../src/actors/load/evidence.ts";
import { LoadLedger } from "../../../src/programs/load-ledger.ts";
import { fakeClock } from "../../fakes/clock.ts";

const WITHIN_MS = 5_000;

const ready: RequestListener = (_, response) => void response.writeHead(200).end("{}");

async function serve(answer: RequestListener, port = 0) {
  const server = createServer(answer).listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

let port: number;
beforeEach(async () => {
  await using free = await serve(ready);
  port = free.port;
});

let opened: LoadLedger | null = null;
afterEach(() => opened?.close());

function ledgerOf(ofPort: number) {
  const [clock, said] = [fakeClock(), [] as string[]];
  const access = { url: `http://127.0.0.1:${ofPort}`, token: null, tls: null };
  const ledger = new LoadLedger({ scheduler: access, nodes: [] }, { clock, say: (line) => said.push(line) });
  opened = ledger;
  return { clock, said, ledger };
}

test("a scheduler that does not listen yet is waited for, which is said once", async () => {
  const { clock, said, ledger } = ledgerOf(port);
  const waiting = ledger.untilReady();
  for (let tries = 0; tries < 3; tries++) {
    await vi.waitFor(() => expect(clock.pending).toBe(1));
    clock.advance(100);
  }
  await vi.waitFor(() => expect(clock.pending).toBe(1));
  await using _scheduler = await serve(ready, port);
  clock.advance(100);
  await waiting;
  expect(said).toEqual([`nobody listens at http://127.0.0.1:${port} yet; waiting 5 s at most`]);
});

test("one that never listens is given up", async () => {
  const { clock, ledger } = ledgerOf(port);
  const ended = ledger.untilReady().catch((thrown: unknown) => thrown);
  await vi.waitFor(() => expect(clock.pending).toBe(1));
  clock.advance(WITHIN_MS);
  await vi.waitFor(() => expect(clock.pending).toBe(1));
  clock.advance(100);
  const thrown = await ended;
  expect(thrown).toBeInstanceOf(UnreachableError);
  expect((thrown as Error).message).toContain("ECONNREFUSED");
});

test("one that breaks connections is not waited for: somebody listens, and is no scheduler", async () => {
  await using broken = await serve((request) => void request.socket.destroy());
  const { clock, said, ledger } = ledgerOf(broken.port);
  await expect(ledger.untilReady()).rejects.toBeInstanceOf(UnreachableError);
  expect([clock.pending, said]).toEqual([0, []]);
});
