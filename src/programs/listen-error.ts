import { systemRoots } from "../ports/kernel-roots.ts";
import { formatAddress, type HostAndPort } from "./address.ts";
import { describePortHolder } from "./port-holder.ts";

/** Why the address cannot be had, in one line with the mend. */
export function describeListenError(thrown: unknown, address: HostAndPort, flag = "--http"): string {
  const { code, message } = thrown as NodeJS.ErrnoException;
  const where = formatAddress(address);
  if (code === "EADDRINUSE") {
    const holder = describePortHolder(systemRoots.proc, address.port) ?? "another process";
    return `${where} is taken by ${holder}; end it, or choose another address with ${flag}`;
  }
  return `cannot listen on ${where}: ${message}`;
}
