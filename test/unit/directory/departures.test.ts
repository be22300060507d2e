import { expect, test } from "vitest";
import type { DirectoryMessage } from "../../../src/actors/directory/client.ts";
import { type NodeGone, withDepartures } from "../../../src/actors/directory/departures.ts";
import type { NodeReport } from "../../../src/actors/directory/reported/client.ts";
import { Reports } from "../../../src/actors/directory/reported/state.ts";
import { MachineInfo, NodeSnapshot } from "../../../src/messages/proto/generated/scheduler/v1/scheduler.ts";

test("who listens hears of nodes that go, and of nothing else", () => {
  const told: DirectoryMessage[] = [];
  const heard: NodeGone[] = [];
  const directory = withDepartures(
    {
      name: "directory",
      mailboxCapacity: 1,
      tell(message) {
        told.push(message);
        return null;
      },
      ask: () => Promise.reject(new Error("nobody asks")),
      askThen: () => undefined,
    },
    [
      {
        tell(message) {
          heard.push(message);
          return null;
        },
      },
    ],
  );
  const routes: DirectoryMessage = {
    type: "routes",
    changes: [
      { type: "assigned", sandboxId: "s", nodeId: "a", source: "record" },
      { type: "node_gone", nodeId: "b" },
      { type: "deleted", sandboxId: "s" },
    ],
  };
  directory.tell(routes);
  expect(told).toEqual([routes]);
  expect(heard).toEqual([{ type: "node_gone", nodeId: "b" }]);
});

test("a node's newest report, with the CPU configuration that its process sent once", () => {
  const reports = new Reports();
  const report = (more: Partial<NodeReport>): NodeReport => ({
    nodeId: "n",
    serviceInstanceId: "1",
    commit: "",
    machineInfo: null,
    snapshot: NodeSnapshot.create(),
    ...more,
  });
  const machineInfo = { ...MachineInfo.create(), cpuModel: "85" };
  reports.onReport(report({ machineInfo: { ...machineInfo, cpuConfigJson: "{}" } }));
  reports.onReport(report({ commit: "abc", machineInfo }));
  expect(reports.get("n")).toMatchObject({ commit: "abc", machineInfo: { cpuModel: "85", cpuConfigJson: "{}" } });
  reports.onReport(report({}));
  expect(reports.get("n")?.machineInfo?.cpuModel).toBe("85");
  reports.onReport(report({ serviceInstanceId: "2", machineInfo }));
  expect(reports.get("n")?.machineInfo?.cpuConfigJson).toBe("");
  expect([...reports.all().keys()]).toEqual(["n"]);
  reports.onNodeGone("n");
  expect(reports.get("n")).toBeNull();
});
