import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WireNode } from "../../src/messages/http/node.ts";
import { GrpcClient } from "../unit/grpc/client.ts";
import { RunningProgram } from "./running-program.ts";

/** A real `evenkeel scheduler` that serves gRPC, and a client of it. */
export class GrpcProcess implements AsyncDisposable {
  readonly program: RunningProgram;
  readonly client: GrpcClient;
  readonly address: string;
  readonly url: string;
  readonly #folder: string;

  private constructor(program: RunningProgram, address: string, url: string, folder: string) {
    this.program = program;
    this.address = address;
    this.url = url;
    this.client = new GrpcClient(address);
    this.#folder = folder;
  }

  /** `config` is written to a file of that name; `--http` and `--grpc` are free ports. */
  static async start(config: object, args: readonly string[] = []): Promise<GrpcProcess> {
    const folder = mkdtempSync(join(tmpdir(), "evenkeel-grpc-"));
    const file = join(folder, "scheduler.json");
    writeFileSync(file, JSON.stringify(config));
    const addresses = ["--state-dir", "none", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"];
    const program = new RunningProgram(["scheduler", "--config", file, ...addresses, ...args]);
    try {
      const [, address = ""] = await program.says(/serving the gRPC API on ([\w.:]+)/);
      const [, url = ""] = await program.says(/serving the HTTP API on (http:\/\/[\w.:]+)/);
      return new GrpcProcess(program, address, url, folder);
    } catch (thrown) {
      await program[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  /** The node as the HTTP API shows it. */
  async node(nodeId: string): Promise<WireNode> {
    const response = await fetch(`${this.url}/v1/nodes/${nodeId}`);
    return ((await response.json()) as { node: WireNode }).node;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client[Symbol.dispose]();
    await this.program[Symbol.asyncDispose]();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Nodes of those ids, in the configuration. */
export function staticNodes(...ids: string[]): { nodes: { id: string; endpoint: string }[]; start_guard: string } {
  return { nodes: ids.map((id) => ({ id, endpoint: `http://${id}:8000` })), start_guard: "0s" };
}
