/** Ends worker threads of another process from within, by its inspector: as a native crash of theirs would. */
import { vi } from "vitest";

interface WorkerEvent {
  readonly method?: string;
  readonly params?: { readonly sessionId?: string };
}

/** Environment of a process whose worker threads can be ended. */
export const INSPECTED = { NODE_OPTIONS: "--inspect=127.0.0.1:0" } as const;

export class WorkerKiller {
  readonly #socket: WebSocket;
  readonly #sessions: string[] = [];
  #calls = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const { method, params } = JSON.parse(String(data)) as WorkerEvent;
      if (method === "NodeWorker.attachedToWorker" && params?.sessionId !== undefined) {
        this.#sessions.push(params.sessionId);
      }
    });
  }

  /** `stderr` is what the process has said so far, where it names its inspector. */
  static async attach(stderr: string): Promise<WorkerKiller> {
    const [, url = ""] = /Debugger listening on (ws:\S+)/.exec(stderr) ?? [];
    const socket = new WebSocket(url);
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener("open", () => resolve());
      socket.addEventListener("error", () => reject(new Error(`no inspector at ${url}`)));
    });
    const killer = new WorkerKiller(socket);
    killer.#send("NodeWorker.enable", { waitForDebuggerOnStart: false });
    return killer;
  }

  /** Lets the oldest worker that is left leave its thread at once. */
  async killOne(): Promise<void> {
    await vi.waitFor(() => {
      if (this.#sessions.length === 0) throw new Error("no worker is attached");
    });
    const sessionId = this.#sessions.shift();
    const message = JSON.stringify({ id: 1, method: "Runtime.evaluate", params: { expression: "process.exit(7)" } });
    this.#send("NodeWorker.sendMessageToWorker", { sessionId, message });
  }

  /** A process that ends waits for its inspector's client to go. */
  detach(): void {
    this.#socket.close();
  }

  #send(method: string, params: object): void {
    this.#calls += 1;
    this.#socket.send(JSON.stringify({ id: this.#calls, method, params }));
  }
}
