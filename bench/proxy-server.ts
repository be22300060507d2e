/** A bare Fastify server that passes every request on with reply-from: it schedules nothing and judges nothing. */
import replyFrom from "@fastify/reply-from";
import Fastify from "fastify";

const [upstream] = process.argv.slice(2);
if (upstream === undefined) throw new Error("proxy-server UPSTREAM");

const server = Fastify();
// As they came: what is parsed would have to be written anew.
server.removeAllContentTypeParsers();
server.addContentTypeParser("*", (_request, body, done) => done(null, body));
await server.register(replyFrom, { base: upstream });
server.all("/*", (request, reply) => reply.from(request.url));
const url = await server.listen({ host: "127.0.0.1", port: 0 });
process.stderr.write(`serving the HTTP API on ${url}\n`);
