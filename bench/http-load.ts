/**
 * An HTTP/1.1 client that costs little: one kept connection per caller, one request at a time on it. With a full client
 * library the bench would measure the client, which has one of two cores.
 */
import { connect, type Socket } from "node:net";
import { systemClock } from "../src/ports/clock.ts";

export interface Answered {
  readonly status: number;
  readonly body: string;
}

/** One connection. Answers must carry a content-length, as JSON answers of Fastify do. */
export class Connection {
  readonly #socket: Socket;
  readonly #host: string;
  #received = "";
  #settle: ((answered: Answered) => void) | null = null;
  #fail: ((error: Error) => void) | null = null;

  constructor(url: string) {
    const { hostname, port, host } = new URL(url);
    this.#host = host;
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.#socket.setEncoding("latin1").on("data", (text: string) => this.#onData(text));
    this.#socket.on("error", (error) => this.#fail?.(error));
    this.#socket.on("close", () => this.#fail?.(new Error("the server has closed the connection")));
  }

  /** `body` is JSON in ASCII, so that its length in characters is that in bytes. */
  request(method: string, path: string, body: string): Promise<Answered> {
    const head = `${method} ${path} HTTP/1.1\r\nhost: ${this.#host}\r\ncontent-type: application/json\r\n`;
    if (!this.#socket.writable) return Promise.reject(new Error("the server has closed the connection"));
    return new Promise((resolve, reject) => {
      this.#settle = resolve;
      this.#fail = reject;
      this.#socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`, "latin1");
    });
  }

  close(): void {
    this.#fail = null;
    this.#socket.destroy();
  }

  #onData(text: string): void {
    this.#received += text;
    const headEnd = this.#received.indexOf("\r\n\r\n");
    if (headEnd < 0) return;
    const length = /\r\ncontent-length: (\d+)/i.exec(this.#received)?.[1];
    const end = headEnd + 4 + Number(length ?? 0);
    if (this.#received.length < end) return;
    const answered = { status: Number(this.#received.slice(9, 12)), body: this.#received.slice(headEnd + 4, end) };
    this.#received = this.#received.slice(end);
    this.#settle?.(answered);
  }
}

/** Sends a request and expects success. Throws with what came instead. */
export async function expectOk(connection: Connection, method: string, path: string, body = "{}"): Promise<string> {
  const { status, body: answer } = await connection.request(method, path, body);
  if (status < 200 || status > 299) throw new Error(`${method} ${path}: ${status} ${answer}`);
  return answer;
}

/** Runs `count` turns over the connections, each of which takes the next as soon as it is free. Milliseconds in all. */
export async function runOver(
  connections: readonly Connection[],
  count: number,
  turn: (connection: Connection, number: number) => Promise<void>,
): Promise<number> {
  let next = 0;
  const startMs = systemClock.monotonicMs();
  await Promise.all(
    connections.map(async (connection) => {
      while (next < count) await turn(connection, next++);
    }),
  );
  return systemClock.monotonicMs() - startMs;
}
