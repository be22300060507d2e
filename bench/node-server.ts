/** A node's runtime as far as a create meets it: reads the body and answers 201 with an id, at once. */
import { createServer } from "node:http";

let created = 0;
const server = createServer((request, response) => {
  request.resume().once("end", () => {
    created += 1;
    const body = JSON.stringify({ sandboxID: `sandbox-${created}`, templateID: "base", clientID: "bench" });
    response.writeHead(201, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
    response.end(body);
  });
});
// Connections are idle while it is the turn of others.
server.keepAliveTimeout = 0;
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the node has no port");
  process.stderr.write(`serving the HTTP API on http://127.0.0.1:${address.port}\n`);
});
