/** The TCP side of the gRPC server, which has no bound on connections of its own. */
import { createServer, type Socket } from "node:net";
import type { SecureContextOptions } from "node:tls";
import { type Server, ServerCredentials } from "@grpc/grpc-js";
import type { Access } from "../http-server.ts";
import type { Tls } from "../tls.ts";
import type { Peer } from "./admission.ts";

export interface GrpcListener {
  /** The address that it really listens on. Rejects with the system's error. */
  listen(address: { readonly host: string; readonly port: number }): Promise<{ host: string; port: number }>;
  /** Takes no more connections; resolves when the last one has ended. */
  close(): Promise<void>;
  /** Ends one. */
  drop(peer: Peer): void;
  /** Ends those that are left. */
  cut(): void;
}

export function createGrpcListener(server: Server, { tls, bounds }: Omit<Access, "gate">): GrpcListener {
  const credentials = tls === null ? ServerCredentials.createInsecure() : new TlsCredentials(tls);
  const injector = server.createConnectionInjector(credentials);
  const sockets = new Map<string, Socket>();
  const listener = createServer({ noDelay: true }, (socket) => {
    const name = nameOf(socket);
    sockets.set(name, socket);
    socket.once("close", () => sockets.delete(name));
    injector.injectConnection(socket);
  });
  listener.maxConnections = bounds.connectionsMax;
  return {
    async listen({ host, port }) {
      await new Promise<void>((resolve, reject) => {
        listener.once("error", reject);
        listener.listen({ host, port }, resolve);
      });
      const bound = listener.address();
      if (bound === null || typeof bound === "string") throw new Error("the gRPC server has no address");
      return { host: bound.address, port: bound.port };
    },
    close: () => new Promise((resolve) => listener.close(() => resolve())),
    drop: (peer) => sockets.get(nameOf(peer))?.destroy(),
    cut() {
      for (const socket of sockets.values()) socket.destroy();
    },
  };
}

function nameOf({ remoteAddress, remotePort }: Peer): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Credentials whose certificate can be exchanged, for connections from then on. */
class TlsCredentials extends ServerCredentials {
  constructor(tls: Tls) {
    super(tls.serverOptions, tls.context);
    tls.onChange((context: SecureContextOptions) => this.updateSecureContextOptions(context));
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}
