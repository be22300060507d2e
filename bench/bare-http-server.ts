/** What node:http costs by itself: a server on a Unix socket that answers every request with the same bytes. */
import { createServer } from "node:http";

const [socketPath, bodyBytes] = process.argv.slice(2);
if (socketPath === undefined || bodyBytes === undefined) throw new Error("bare-http-server SOCKET BODY_BYTES");
const body = Buffer.alloc(Number(bodyBytes), "x");

createServer((_, response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
  response.end(body);
}).listen(socketPath, () => process.stdout.write("listening\n"));
