import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { readDocumentedErrors } from "../documented-errors.ts";
import type { Target } from "../target.ts";
import { type LocalStack, startLocalStack } from "../testing/local-stack.ts";
import { messages, responses } from "./other-apis.ts";
import { requestsOf } from "./requests.ts";
import { runFuzz, type Send } from "./worker.ts";

/**
 * Requests of each API that is translated. They go to the gateway without a connection, because connections would take
 * most of the time; `http.fuzz.test.ts` sends some of them over connections, on every host.
 */
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 500_000);
const seed = Number(process.env.FUZZ_SEED ?? 1);
const skip = process.env.CONFORMANCE_URL === undefined ? false : "Without a connection there is no gateway elsewhere.";

describe("requests of translated APIs", { skip }, () => {
  let stack: LocalStack;
  let target: Target;
  before(async () => {
    stack = await startLocalStack();
    const { url, wallets, agentToken } = stack;
    const documentedErrors = await readDocumentedErrors(url);
    target = { url, wallets, agentToken, front: null, documentedErrors, undo: [], close: async () => undefined };
  });
  after(async () => assert.deepEqual(await stack?.stop(), []));

  const send: Send = async ({ method, path, headers, body }) => {
    const sent = body === undefined ? {} : { body: Buffer.from(body) };
    const request = new Request(target.url + path, { method, headers, ...sent });
    const answer = await stack.app.fetch(request);
    const bytes = new Uint8Array(await answer.arrayBuffer());
    return { method, path, status: answer.status, headers: answer.headers, body: bytes, whole: true };
  };

  const apis = { "/responses": responses, "/messages": messages };
  for (const [path, bodies] of Object.entries(apis)) {
    test(`${REQUESTS} for ${path} (seed ${seed})`, async (context) => {
      const requests = requestsOf(path, bodies);
      const counts = await runFuzz(target, { requests, count: REQUESTS, seed, makeSend: () => send });
      context.diagnostic([...counts].map(([outcome, count]) => `${count} x ${outcome}`).join(", "));
      const served = counts.get("200") ?? 0;
      assert.ok(served > REQUESTS / 10 && served < REQUESTS / 2, `${served} were served`);
    });
  }
});
