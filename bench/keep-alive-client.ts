import { connect, type Socket } from "node:net";

const REQUEST = "GET /resource HTTP/1.1\r\nHost: node\r\n\r\n";
const HEAD_END = "\r\n\r\n";

/** One connection that asks for `/resource` again and again, as cheaply as a client can: the server is what is measured. */
export class KeepAliveClient {
  readonly #socket: Socket;
  #received = "";
  #answered: (() => void) | null = null;
  #failed: ((error: Error) => void) | null = null;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => this.#onData(text));
    socket.on("error", (error) => this.#failed?.(error));
    socket.on("close", () => this.#failed?.(new Error("the server closed the connection")));
  }

  static open(socketPath: string): Promise<KeepAliveClient> {
    return new Promise((resolve, reject) => {
      const socket = connect(socketPath, () => resolve(new KeepAliveClient(socket)));
      socket.once("error", reject);
    });
  }

  /** Asks once; the next may be asked when it resolves. */
  ask(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#answered = resolve;
      this.#failed = reject;
      this.#socket.write(REQUEST);
    });
  }

  close(): void {
    this.#failed = null;
    this.#socket.destroy();
  }

  #onData(text: string): void {
    this.#received += text;
    const headEnd = this.#received.indexOf(HEAD_END);
    if (headEnd === -1) return;
    const bodyBytes = Number(/^content-length: (\d+)/im.exec(this.#received)?.[1]);
    if (this.#received.length < headEnd + HEAD_END.length + bodyBytes) return;
    if (!this.#received.startsWith("HTTP/1.1 200 ")) this.#failed?.(new Error(this.#received));
    this.#received = "";
    this.#answered?.();
  }
}
