import { statfsSync } from "node:fs";
import { Agent } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { DaemonProcess, startDaemon } from "./daemon-process.ts";
import { FuseFilesystem, fuseUnavailable } from "./fuse-filesystem.ts";
import { LivingTree } from "./living-tree.ts";
import { exchange, socketRequest } from "./socket-client.ts";

const FIXTURES = join(import.meta.dirname, "../../fixtures/kernel");
/** No second refresh comes while a test runs. */
const ONE_REFRESH = ["--interval", "5m"];

describe("a daemon on a fixture kernel, between its first refresh and its second", () => {
  let daemon: DaemonProcess;
  let first: string;

  beforeAll(async () => {
    daemon = new DaemonProcess({ tree: join(FIXTURES, "all-limits"), args: ONE_REFRESH });
    expect(await daemon.outcome()).toBe("serving");
    first = (await daemon.get("/resource")).body;
    await daemon.settled();
  });

  afterAll(() => daemon[Symbol.asyncDispose]());

  it("has everything but cpu in its very first answer", () => {
    expect(JSON.parse(first)).toEqual({
      cpu: 32,
      mem: 103_079_215_104,
      xpu: [],
      features: [],
      utilization: { cpu: null, memory: 41_231_686_042 / 103_079_215_104, pid: 0.3, fd: 0.3, disk: null },
    });
  });

  it("writes the keys in the order of the contract, and no storage without a filestore", () => {
    expect(first).toMatch(
      /^\{"cpu":32,"mem":103079215104,"xpu":\[\],"features":\[\],"utilization":\{"cpu":null,"memory":0\.4\d*,"pid":0\.3,"fd":0\.3,"disk":null\}\}$/,
    );
  });

  it("answers JSON with its exact length", async () => {
    const { status, headers, body } = await daemon.get("/resource");
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("application/json");
    expect(headers["content-length"]).toBe(String(Buffer.byteLength(body)));
    expect(headers["transfer-encoding"]).toBeUndefined();
  });

  it("gives 50 concurrent clients the same bytes", async () => {
    const client = async (): Promise<string[]> => {
      const bodies: string[] = [];
      for (let asked = 0; asked < 10; asked++) bodies.push((await daemon.get("/resource")).body);
      return bodies;
    };
    const bodies = (await Promise.all(Array.from({ length: 50 }, client))).flat();
    expect(bodies).toHaveLength(500);
    expect(new Set(bodies)).toEqual(new Set([first]));
  });

  it.each(["/resource", "/healthz", "/metrics"])(
    "answers HEAD %s with the headers of GET and no body",
    async (path) => {
      const head = await daemon.get(path, "HEAD");
      const get = await daemon.get(path);
      expect(head.status).toBe(200);
      expect(head.body).toBe("");
      expect(head.headers["content-type"]).toBe(get.headers["content-type"]);
      // The ages in /metrics have more digits at one moment than at another.
      if (path !== "/metrics") expect(head.headers["content-length"]).toBe(String(Buffer.byteLength(get.body)));
      else expect(Number(head.headers["content-length"])).toBeGreaterThan(1000);
    },
  );

  it.each(["/", "/resource/", "/resources", "/v1/resource", "//resource", "/%2e%2e/resource"])(
    "answers 404 to GET %s, with a JSON body",
    async (path) => {
      const { status, headers, body } = await daemon.get(path);
      expect(status).toBe(404);
      expect(headers["content-type"]).toBe("application/json");
      expect(JSON.parse(body).error.code).toBe("not_found");
    },
  );

  it("answers 404, not 405, where the path is unknown whatever the method", async () => {
    expect((await daemon.get("/nothing", "POST")).status).toBe(404);
  });

  it("does not mind a query", async () => {
    expect((await daemon.get("/resource?verbose=1")).body).toBe(first);
  });

  it.each(["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])("answers 405 to %s, with Allow", async (method) => {
    for (const path of ["/resource", "/healthz", "/metrics"]) {
      const { status, headers, body } = await daemon.get(path, method);
      expect(status).toBe(405);
      expect(headers.allow).toBe("GET, HEAD");
      expect(headers["content-type"]).toBe("application/json");
      expect(JSON.parse(body).error.code).toBe("method_not_allowed");
    }
  });

  it("serves 200 requests over one connection that is kept alive", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      let reused = 0;
      for (let asked = 0; asked < 200; asked++) {
        const answer = await socketRequest({ socketPath: daemon.socket, path: "/resource", agent });
        expect(answer.body).toBe(first);
        if (answer.reusedConnection) reused++;
      }
      expect(reused).toBe(199);
    } finally {
      agent.destroy();
    }
  });

  it("answers pipelined requests in order, one with an unread body among them", async () => {
    const get = (path: string, more = ""): string => `GET ${path} HTTP/1.1\r\nHost: node\r\n${more}\r\n`;
    const post = "POST /resource HTTP/1.1\r\nHost: node\r\nContent-Length: 11\r\n\r\nunread body";
    const answer = await exchange(
      daemon.socket,
      get("/resource") + post + get("/nothing") + get("/resource", "Connection: close\r\n"),
    );
    const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status);
    expect(statuses).toEqual(["200", "405", "404", "200"]);
    expect(answer.split(first)).toHaveLength(3);
    expect(answer.endsWith(first)).toBe(true);
  });

  it("goes on after a request that is not HTTP", async () => {
    expect(await exchange(daemon.socket, "\u0000\u0001 not HTTP\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 /);
    expect((await daemon.get("/resource")).body).toBe(first);
  });
});

describe("the numbers", () => {
  it("turns cpu from null to the busy fraction of exactly two samples", async () => {
    const tree = new LivingTree("all-limits");
    await using daemon = await startDaemon({ tree: tree.path, args: ["--interval", "2s"] });
    const before = await daemon.resource();
    tree.swapIn("proc/stat", "later");
    const after = await daemon.until(({ utilization }) => utilization.cpu !== null);
    expect(before.utilization.cpu).toBeNull();
    // 450 of 1000 ticks; the quotas beside it are unused, so the host's ratio is the maximum.
    expect(after.utilization.cpu).toBe(0.45);
    expect(after.utilization.fd).toBe(0.3);
  });

  it("tells zero from unknown", async () => {
    await using daemon = await startDaemon({ tree: join(FIXTURES, "no-limits"), args: ONE_REFRESH });
    const { utilization } = await daemon.resource();
    // Every page and descriptor of this host is free, and nothing limits tasks.
    expect(utilization).toEqual({ cpu: null, memory: 0, pid: null, fd: 0, disk: null });
  });

  it("writes integers beyond 2^53 digit by digit", async () => {
    const tree = new LivingTree("no-limits");
    // 2^53 KiB are 2^63 bytes, which a double would print as 9223372036854776000.
    tree.write("proc/meminfo", tree.read("proc/meminfo").replace(/^MemTotal:.*$/m, `MemTotal: ${2n ** 53n} kB`));
    await using daemon = await startDaemon({ tree: tree.path, args: ONE_REFRESH });
    expect((await daemon.get("/resource")).body).toContain('"mem":9223372036854775808,');
  });

  it("adds the sandboxes' cgroup to what is measured, and not to the capacity", async () => {
    const tree = join(FIXTURES, "all-limits");
    await using daemon = await startDaemon({ tree, args: [...ONE_REFRESH, "--sandbox-cgroup", "/sandboxes.slice"] });
    const answer = await daemon.resource();
    expect(answer.cpu).toBe(32);
    expect(answer.mem).toBe(103_079_215_104);
    expect(answer.utilization.pid).toBe(0.9);
  });

  it("promises what the filestore has free, times the overcommit ratio", async () => {
    const filestore = "/dev/shm";
    const args = ["--interval", "100ms", "--filestore", filestore, "--filestore-overcommit-ratio", "1.5"];
    await using daemon = await startDaemon({ tree: join(FIXTURES, "v2"), args });
    await vi.waitFor(
      async () => {
        const { storage, features, utilization } = await daemon.resource();
        const { blocks, bavail, frsize, bsize } = statfsSync(filestore);
        expect(features).toEqual(["storage-quota-v1"]);
        expect(storage).toBe(Math.floor(bavail * (frsize || bsize) * 1.5));
        expect(utilization.disk).toBe((blocks - bavail) / blocks);
      },
      { timeout: 10_000, interval: 20 },
    );
  });

  it("has no storage key while the filestore was never there, and one as soon as it is", async () => {
    const tree = new LivingTree("v2");
    const filestore = tree.at("filestore");
    await using daemon = await startDaemon({
      tree: tree.path,
      args: ["--interval", "100ms", "--filestore", filestore],
    });
    const without = await daemon.resource();
    expect(without.storage).toBeUndefined();
    expect(without.features).toEqual([]);
    expect(without.utilization.disk).toBeNull();
    tree.write("filestore/image", "");
    const withIt = await daemon.until(({ utilization }) => utilization.disk !== null);
    expect(withIt.storage).toBeGreaterThan(0);
    expect(withIt.features).toEqual(["storage-quota-v1"]);
    tree.remove("filestore");
    const afterIt = await daemon.until(({ utilization }) => utilization.disk === null);
    // Of the capacity, the last good value stands.
    expect(afterIt.storage).toBeGreaterThan(0);
    expect(afterIt.features).toEqual(["storage-quota-v1"]);
  });
});

const withoutFuse = fuseUnavailable();

// Only a filesystem of the test's own has counts that the test chooses; where none can be mounted, unit tests of the
// disk sampler stand alone.
describe.skipIf(withoutFuse !== null)(`a filestore with known counts${withoutFuse ? ` (${withoutFuse})` : ""}`, () => {
  it("reads disk and storage from one statfs call, in fragments", async () => {
    using filestore = new FuseFilesystem({ blocks: 1000n, availableBlocks: 250n, fragmentBytes: 512 });
    const args = ["--interval", "100ms", "--filestore", filestore.path, "--filestore-overcommit-ratio", "1.4"];
    await using daemon = await startDaemon({ tree: join(FIXTURES, "v2"), args });
    const answer = await daemon.resource();
    expect(answer.utilization.disk).toBe(0.75);
    expect(answer.storage).toBe(179_200);
    filestore.counts = { blocks: 1000n, availableBlocks: 1001n, fragmentBytes: 512 };
    const impossible = await daemon.until(({ utilization }) => utilization.disk === null);
    expect(impossible.storage).toBe(179_200);
    filestore.counts = { blocks: 0n, availableBlocks: 0n, fragmentBytes: 512 };
    expect((await daemon.until(({ storage }) => storage === 0)).utilization.disk).toBeNull();
    filestore.counts = { blocks: 1000n, availableBlocks: 1000n, fragmentBytes: 512 };
    expect((await daemon.until(({ storage }) => storage === 716_800)).utilization.disk).toBe(0);
  });

  it("counts blocks as unsigned 64-bit integers, and writes their bytes exactly", async () => {
    const blocks = 2n ** 63n + 3n;
    using filestore = new FuseFilesystem({ blocks, availableBlocks: blocks - 2n, fragmentBytes: 4096 });
    const args = [...ONE_REFRESH, "--filestore", filestore.path];
    await using daemon = await startDaemon({ tree: join(FIXTURES, "v2"), args });
    const { body } = await daemon.get("/resource");
    expect(body).toContain(`"storage":${(2n ** 63n + 1n) * 4096n},`);
  });
});
