/** A bare Fastify server that parses a JSON body and answers with it: the least that any HTTP API on it costs. */
import Fastify from "fastify";

const HEARTBEAT_BYTES_MAX = 8 * 2 ** 20;

const server = Fastify({ bodyLimit: HEARTBEAT_BYTES_MAX });
server.post("/echo", async (request) => request.body);
let generation = 0;
// What the scheduler answers to a heartbeat: the body is read, a number goes back.
server.post("/v1/nodes/:nodeId/heartbeat", async () => ({ generation: ++generation }));
const url = await server.listen({ host: "127.0.0.1", port: 0 });
process.stderr.write(`serving the HTTP API on ${url}\n`);
