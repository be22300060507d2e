import type { RequestListener } from "node:http";

/**
 * Hands on the requests of one connection one after the other, though all of them may have come at once (pipelining, RFC
 * 9112, 9.3.2): each when the answer before it has been taken. Without that, whoever sends hundreds and reads nothing has
 * as many large answers made and kept for it.
 */
export function inTurn(listener: RequestListener): RequestListener {
  return (request, response) => {
    // Node gives an answer its socket when the one before it has left by that socket, and none when it has closed.
    if (response.socket !== null) listener(request, response);
    else response.once("socket", () => listener(request, response));
  };
}
