import { type Agent, type IncomingHttpHeaders, request } from "node:http";
import { connect, type Socket } from "node:net";

export interface SocketAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Whether the request went over a connection that an earlier one had opened. */
  readonly reusedConnection: boolean;
}

export interface SocketRequest {
  readonly socketPath: string;
  readonly path: string;
  readonly method?: string;
  /** Absent: a connection of its own. */
  readonly agent?: Agent;
}

/** Far beyond what any answer from memory takes. */
const ANSWER_DEADLINE_MS = 10_000;

/** One HTTP request over a Unix socket, with its whole answer. */
export function socketRequest({ socketPath, path, method = "GET", agent }: SocketRequest): Promise<SocketAnswer> {
  return new Promise((resolve, reject) => {
    const options = { socketPath, path, method, agent: agent ?? false, timeout: ANSWER_DEADLINE_MS };
    const asking = request(options, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (text: string) => {
        body += text;
      });
      response.on("error", reject);
      response.on("end", () => {
        const { statusCode: status = 0, headers } = response;
        resolve({ status, headers, body, reusedConnection: asking.reusedSocket });
      });
    });
    asking.on("timeout", () => asking.destroy(new Error(`no answer to ${method} ${path}`)));
    asking.on("error", reject);
    asking.end();
  });
}

/** Sends bytes as they are and resolves with all that comes back until the server ends the connection. */
export function exchange(socketPath: string, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(socketPath, () => socket.write(bytes));
    socket.setTimeout(ANSWER_DEADLINE_MS, () => socket.destroy(new Error(`the connection stays open after ${answer}`)));
    socket.setEncoding("utf8");
    socket.on("data", (text: string) => {
      answer += text;
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(answer));
  });
}

/** A connection that says nothing. */
export function openConnection(socketPath: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath, () => resolve(socket));
    socket.once("error", reject);
  });
}
