import { expect, test } from "vitest";
import { type Fetch, type FetchAnswer, type FetchInit, PlacementClient } from "../../../src/client/index.ts";

test("a client calls by the fetch that it is given", async () => {
  const calls: [string, FetchInit["method"]][] = [];
  const answer: FetchAnswer = {
    status: 404,
    ok: false,
    headers: { get: () => null },
    text: async () => JSON.stringify({ error: { code: "not_found", message: "no such reservation", details: {} } }),
  };
  const fetch: Fetch = async (url, { method }) => {
    calls.push([url, method]);
    return answer;
  };
  const client = new PlacementClient({ url: "http://scheduler.test/", fetch });
  await expect(client.renew("t_1")).rejects.toMatchObject({ code: "not_found", status: 404 });
  expect(calls).toEqual([["http://scheduler.test/v1/reservations/t_1/renew", "POST"]]);
});
