import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

/**
 * What becomes of one call. `lose_request`: the scheduler never sees it. `lose_answer`: it does, and the caller does not
 * hear of it. A number: answered with that status by a proxy that knows nothing.
 */
export type Fate = "pass" | "lose_request" | "lose_answer" | 502;

export interface SeenCall {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly fate: Fate;
}

export interface LossyProxyOptions {
  /** What happens between a lost answer and whatever its caller does next. */
  readonly beforeLosing?: (answer: unknown) => Promise<void>;
  /** What happens when the scheduler has answered and the caller has not heard of it yet. */
  readonly beforePassing?: (verb: string) => Promise<void>;
}

/** A proxy in front of a scheduler that loses what the test says. */
export class LossyProxy implements AsyncDisposable {
  /** Every call, in order of arrival. */
  readonly calls: SeenCall[] = [];
  /** Where calls go: a test puts another scheduler's URL here. */
  target: string;
  readonly #fateOf: (path: string, nth: number) => Fate;
  readonly #server = createServer((request, response) => void this.#take(request, response));

  readonly #options: LossyProxyOptions;

  private constructor(target: string, fateOf: (path: string, nth: number) => Fate, options: LossyProxyOptions) {
    this.target = target;
    this.#fateOf = fateOf;
    this.#options = options;
  }

  /** `fateOf` is given the last part of the path, such as `confirm`, and how many calls of that part there were. */
  static async open(
    target: string,
    fateOf: (verb: string, nth: number) => Fate,
    options: LossyProxyOptions = {},
  ): Promise<LossyProxy> {
    const proxy = new LossyProxy(target, fateOf, options);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  }

  to(verb: string): SeenCall[] {
    return this.calls.filter(({ path }) => path.endsWith(`/${verb}`));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk;
    const path = request.url ?? "";
    const verb = path.split("/").at(-1) ?? "";
    const fate = this.#fateOf(verb, this.to(verb).length + 1);
    this.calls.push({ path, body: JSON.parse(text || "{}"), fate });
    if (fate === "lose_request") return void request.socket.destroy();
    if (fate === 502) return void response.writeHead(502, { "content-type": "text/plain" }).end("bad gateway");
    const answer = await fetch(`${this.target}${path}`, {
      method: request.method ?? "GET",
      ...(request.method === "POST" ? { headers: { "content-type": "application/json" }, body: text } : {}),
    }).catch(() => null);
    if (answer === null) return void request.socket.destroy();
    const body = await answer.text();
    if (fate === "lose_answer") {
      await this.#options.beforeLosing?.(JSON.parse(body));
      return void request.socket.destroy();
    }
    await this.#options.beforePassing?.(verb);
    response.writeHead(answer.status, { "content-type": "application/json" }).end(body);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
