/**
 * What runs in a worker thread. Piscina runs the default export once per thread; it ends when the thread is told to.
 */
import type { MessagePort } from "node:worker_threads";
import * as Comlink from "comlink";
import { HostedActors } from "./hosted-actors.ts";

export default function runThread({ port }: { port: MessagePort }): Promise<void> {
  return new Promise((finished) => {
    const surface = new HostedActors(() => {
      // After the answer to `end` has left; closing at once would drop it.
      setImmediate(() => {
        port.close();
        finished();
      });
    });
    // Comlink types its endpoint as the browser's; Node's port has the three methods that it uses.
    Comlink.expose(surface, port as unknown as Comlink.Endpoint);
  });
}
