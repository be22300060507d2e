import { type Connection, expectOk } from "./http-load.ts";

/** Reports a node so large that it is never full. One that is silent for `--report-ttl` (30 s) is no candidate. */
export async function reportLargeNode(
  connection: Connection,
  nodeId: string,
  endpoint = `${nodeId}.example:443`,
): Promise<void> {
  const snapshot = { cpu_count: 100_000, memory_total_bytes: 2 ** 50 };
  const body = JSON.stringify({ endpoint, service_instance_id: "instance", snapshot });
  await expectOk(connection, "POST", `/v1/nodes/${nodeId}/heartbeat`, body);
}
