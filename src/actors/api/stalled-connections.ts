import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../ports/clock.ts";
import type { Bounds } from "./bounds.ts";

/**
 * Drops connections that take nothing of an answer for `stalledMs`. Node's own timeout for that (`server.timeout`) is set
 * and reset with every request and touched with every packet, 1.5 µs of a call that takes 28; nearly every answer fits into
 * the buffers of the system at once, so it is set for those that are found waiting, and Node does the rest.
 */
export function dropStalled(server: Server, { stalledMs, checkedEveryMs }: Bounds, clock: Clock): void {
  const open = new Set<Socket>();
  const hold = (socket: Socket): void => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  };
  server.on("connection", hold);
  // A connection that is encrypted is two sockets, and what waits is with the one that encrypts.
  server.on("secureConnection", hold);
  const look = (): void => {
    for (const socket of open) {
      if (socket.writableLength > 0 && (socket.timeout ?? 0) === 0) socket.setTimeout(stalledMs);
    }
    next = clock.after(checkedEveryMs, look);
  };
  let next = clock.after(checkedEveryMs, look);
  server.once("close", () => next.cancel());
}
