import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { service as healthService } from "grpc-health-check";
import { describe, expect, test, vi } from "vitest";
import { type GrpcClient, refusedOf, status } from "../unit/grpc/client.ts";
import { evenkeel } from "./evenkeel-command.ts";
import { GrpcProcess, staticNodes } from "./grpc-process.ts";

test("a port that is taken is one line, and exit code 1", async () => {
  await using running = await GrpcProcess.start(staticNodes("n"));
  const second = await evenkeel([
    "scheduler",
    "--state-dir",
    "none",
    "--http",
    "127.0.0.1:0",
    "--grpc",
    running.address,
  ]);
  expect(second.code).toBe(1);
  const complaints = second.stderr.split("\n").filter((line) => line.startsWith("evenkeel: "));
  expect(complaints).toHaveLength(1);
  expect(complaints[0]).toContain(`${running.address} is taken by`);
  expect(complaints[0]).toContain("choose another address with --grpc");
});

test("it stops on a signal although clients stay connected, and says goodbye to those that watch", async () => {
  await using running = await GrpcProcess.start(staticNodes("n"));
  await running.client.ask("listNodes", {});
  const said: unknown[] = [];
  const health = new Client(running.address, credentials.createInsecure());
  const watch = health.makeServerStreamRequest(
    methodOf("Watch").path,
    methodOf("Watch").requestSerialize,
    methodOf("Watch").responseDeserialize,
    { service: "scheduler.v1.Scheduler" },
  );
  watch.on("data", (message: { status: unknown }) => said.push(message.status)).on("error", () => undefined);
  await vi.waitFor(() => expect(said).toEqual(["SERVING"]), { timeout: 10_000, interval: 20 });
  const { code, tookMs } = await running.program.stop();
  expect(code).toBe(0);
  expect(tookMs).toBeLessThan(5_000);
  expect(said).toEqual(["SERVING", "NOT_SERVING"]);
  health.close();
});

function methodOf(name: string) {
  const method = healthService[name];
  if (method === undefined) throw new Error(`grpc.health.v1 has no ${name}`);
  return method;
}

describe("AgentENV's configuration file", () => {
  const scheduler = {
    ...{ grpc_listen_addr: "127.0.0.1:0", metrics_listen_addr: "127.0.0.1:0", redis_addr: "", report_ttl: "30s" },
    ...{ discovery: { mode: "static" }, nodes: [{ id: "n", endpoint: "http://n:8000" }], shard_count: 2 },
  };

  test("loads as it is, and what is not served is named in one warning", async () => {
    await using running = await GrpcProcess.start({ scheduler });
    expect((await running.client.ask("listNodes", {})).nodes).toEqual([{ nodeId: "n", endpoint: "http://n:8000" }]);
    const warnings = running.program.stderr.split("\n").filter((line) => line.includes("not served"));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain("scheduler.shard_count");
  });

  test("what would change placement is refused, with the way out", async () => {
    const folder = mkdtempSync(join(tmpdir(), "evenkeel-agentenv-"));
    const file = join(folder, "agentenv.json");
    writeFileSync(file, JSON.stringify({ scheduler: { ...scheduler, discovery: { mode: "kubernetes" } } }));
    const { code, stderr } = await evenkeel(["scheduler", "--state-dir", "none", "--config", file]);
    rmSync(folder, { recursive: true });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^evenkeel: scheduler\.discovery\.mode in .*: only static discovery is served.*\n$/);
  });
});

describe("health", () => {
  test("the process is SERVING when it is ready, the services from the start", async () => {
    await using running = await GrpcProcess.start({ ...staticNodes("n"), start_guard: "10m" });
    expect(await healthOf(running, "scheduler.v1.Scheduler")).toBe("SERVING");
    expect(await healthOf(running, "evenkeel.v1.Reservations")).toBe("SERVING");
    expect(await healthOf(running, "")).toBe("NOT_SERVING");
    await running.client.heartbeat("n");
    await vi.waitFor(async () => expect(await healthOf(running, "")).toBe("SERVING"), {
      timeout: 10_000,
      interval: 50,
    });
    expect(await refusedOf(healthOf(running, "other"))).toMatchObject({ code: status.NOT_FOUND });
  });
});

async function healthOf(running: GrpcProcess, service: string): Promise<unknown> {
  const check = methodOf("Check");
  const { response } = await running.client.send(check.path, check.requestSerialize({ service }));
  return (check.responseDeserialize(response) as { status: unknown }).status;
}

describe("reflection", () => {
  /** A `ServerReflectionRequest` of one text field, and the bytes of its answer. */
  function reflect(client: GrpcClient, field: number, text: string): Promise<string> {
    const same = (bytes: Buffer): Buffer => bytes;
    const path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
    const call = client.raw.makeBidiStreamRequest(path, same, same, new Metadata());
    call.write(Buffer.from([(field << 3) | 2, text.length, ...Buffer.from(text)]));
    return new Promise((resolve, reject) => {
      call.on("error", reject).on("data", (bytes: Buffer) => {
        resolve(bytes.toString("latin1"));
        call.end();
      });
    });
  }

  test("lists the services, and describes them", async () => {
    await using running = await GrpcProcess.start(staticNodes("n"));
    const services = await reflect(running.client, 7, "*");
    for (const name of ["scheduler.v1.Scheduler", "evenkeel.v1.Reservations", "grpc.health.v1.Health"]) {
      expect(services).toContain(name);
    }
    const file = await reflect(running.client, 4, "scheduler.v1.Scheduler");
    for (const name of ["RecordP2pArtifact", "paused_allocated_memory_bytes", "NODE_STATUS_LINGERING"]) {
      expect(file).toContain(name);
    }
  });
});
