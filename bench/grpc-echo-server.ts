/** A bare unary method on @grpc/grpc-js, with the messages of Schedule: the least that any API on that library costs. */
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { GRPC_SERVER_OPTIONS } from "../src/actors/api/grpc/server.ts";
import { SchedulerService } from "../src/messages/proto/generated/scheduler/v1/scheduler.ts";

const server = new Server(GRPC_SERVER_OPTIONS);
const answer = { node: { nodeId: "node-0500", endpoint: "http://node-0500.example:8000" } };
server.addService(
  { schedule: SchedulerService.schedule },
  { schedule: (_call: unknown, callback: (error: null, response: typeof answer) => void) => callback(null, answer) },
);
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  process.stderr.write(`serving the gRPC API on 127.0.0.1:${port}\n`);
});
