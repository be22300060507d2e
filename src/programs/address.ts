import { isIP } from "node:net";
import { z } from "zod";
import { refuse, show } from "../messages/settings.ts";

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

/** The schema of an address to listen on; `usualPort` is for the example in its refusal. Port 0: any that is free. */
export function addressSchema(usualPort: number): z.ZodType<HostAndPort, unknown> {
  return z.unknown().transform((given, context) => {
    const text = typeof given === "string" ? given.trim() : "";
    const url = /:\d+$/.test(text) ? URL.parse(`tcp://${text}`) : null;
    if (url === null || url.hostname === "" || url.host !== text) {
      return refuse(context, `${show(given)} is not an address such as 127.0.0.1:${usualPort} or [::1]:${usualPort}`);
    }
    return { host: url.hostname.replaceAll(/[[\]]/g, ""), port: Number(url.port) };
  });
}
