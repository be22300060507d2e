import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { cleanEnvironment } from "./daemon-process.ts";
import { socketRequest } from "./socket-client.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const DESCRIPTORS = 200;

test("idle clients cannot take the descriptors that sampling needs", async () => {
  const socketPath = join(mkdtempSync(join(tmpdir(), "ek-fd-")), "s.sock");
  const command = `ulimit -n ${DESCRIPTORS}; exec "$0" "$1" daemon --interval 200ms --socket "$2"`;
  const daemon = spawn("sh", ["-c", command, process.execPath, MAIN, socketPath], {
    env: cleanEnvironment(),
    stdio: ["ignore", "ignore", "pipe"],
  });
  const idle: Socket[] = [];
  try {
    let log = "";
    daemon.stderr.on("data", (chunk) => {
      log += chunk;
    });
    while (!log.includes("serving GET /resource")) await once(daemon.stderr, "data");
    for (let count = 0; count < 2 * DESCRIPTORS; count++) {
      const socket = connect(socketPath).on("error", () => undefined);
      idle.push(socket);
      await Promise.race([once(socket, "connect"), once(socket, "close")]);
    }
    // The daemon takes no more connections than leave it 100 descriptors; the others find theirs closed.
    await expect.poll(() => idle.filter((socket) => !socket.closed).length).toBeLessThanOrEqual(DESCRIPTORS - 100);
    for (const socket of idle.splice(0, 10)) socket.destroy();
    await expect
      .poll(async () => JSON.parse((await socketRequest({ socketPath, path: "/resource" })).body).utilization, {
        timeout: 10_000,
      })
      .toMatchObject({ memory: expect.any(Number), fd: expect.any(Number) });
  } finally {
    for (const socket of idle) socket.destroy();
    daemon.kill("SIGKILL");
  }
});
