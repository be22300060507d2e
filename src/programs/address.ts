import { isIP } from "node:net";

/** Where a server listens. */
export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

/** Whether only this machine can reach the address. */
export function isLoopback({ host }: HostAndPort): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

export function formatAddress({ host, port }: HostAndPort): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
