import { expect, test } from "vitest";
import { countsOfViews, inOrder } from "../../fakes/counts-of-views.ts";
import { World } from "./world.ts";

const ALL = Number.MAX_SAFE_INTEGER;
const NONE = { CPU_PRESSURE: 0, MEMORY_PRESSURE: 0, PID_PRESSURE: 0, FD_PRESSURE: 0, DISK_PRESSURE: 0 };

test("nodes by status and condition, and reservations, in all and by node: what the list of nodes adds up to", () => {
  const world = new World();
  world.report("silent");
  world.pass(30_001);
  for (const nodeId of ["ready", "held"]) world.report(nodeId);
  world.report("begins", { status: "CONNECTING" });
  world.report("leaves", { status: "LINGERING" });
  for (let sample = 1; sample <= 10; sample++) world.resource("ready", { cpu: 1, resourceSequence: sample });
  world.confirm(world.reserve(), "s1");
  for (let count = 0; count < 3; count++) world.reserve();
  world.report("gone");
  world.ask({ type: "unregister", nodeId: "gone", serviceInstanceId: "run-1" });
  const counts = world.ask({ type: "count_nodes", byNodeUpTo: ALL });
  expect(counts).toMatchObject({
    byStatus: { READY: 2, CONNECTING: 1, UNHEALTHY: 1, LINGERING: 1 },
    byCondition: { ...NONE, CPU_PRESSURE: 1 },
    reservations: { pending: 3, confirmed: 1 },
  });
  expect(inOrder(counts)).toEqual(countsOfViews(world.ask({ type: "list_nodes" }).nodes));
});

test("by node only where there are no more nodes than that", () => {
  const world = new World();
  for (const nodeId of ["a", "b"]) world.report(nodeId);
  const { nodeId } = world.reserve();
  expect(world.ask({ type: "count_nodes", byNodeUpTo: 1 }).reservationsByNode).toBeNull();
  expect(world.ask({ type: "count_nodes", byNodeUpTo: 2 }).reservationsByNode).toEqual([
    { nodeId, pending: 1, confirmed: 0 },
  ]);
});
