import { join } from "node:path";
import { readKernelFile, VALUE_BYTES_MAX } from "./kernel-file.ts";

/**
 * The id of the kernel's present boot, a UUID that stays until the next one (proc_sys_kernel(5), `random/boot_id`); null
 * where it cannot be read.
 */
export function readBootId(proc: string): string | null {
  const text = readKernelFile({ path: join(proc, "sys/kernel/random/boot_id"), bytesMax: VALUE_BYTES_MAX });
  return text.kind === "found" && /^[0-9a-f-]{1,64}$/i.test(text.value.trim()) ? text.value.trim() : null;
}
