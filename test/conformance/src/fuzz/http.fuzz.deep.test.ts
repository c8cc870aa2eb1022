import assert from "node:assert/strict";
import { Agent } from "node:http";
import { after, before, test } from "node:test";
import { sendRaw } from "../raw.ts";
import { openTarget, type Target } from "../target.ts";
import { fuzzRequest } from "./requests.ts";
import { runFuzz } from "./worker.ts";

const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 1_000_000);
const seed = Number(process.env.FUZZ_SEED ?? 1);

let target: Target;
before(async () => {
  target = await openTarget();
});
after(() => target?.close());

test(`${REQUESTS} requests of every kind (seed ${seed})`, async (context) => {
  const counts = await runFuzz(target, {
    requests: fuzzRequest,
    count: REQUESTS,
    seed,
    makeSend() {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      return ({ body, ...request }) =>
        sendRaw(target.url, { ...request, agent, ...(body === undefined ? {} : { body }) });
    },
  });
  context.diagnostic([...counts].map(([outcome, count]) => `${count} x ${outcome}`).join(", "));
  // Fuzzing that is never served, or never refused, looks at nothing.
  const served = counts.get("200") ?? 0;
  assert.ok(served > REQUESTS / 6 && served < REQUESTS / 2, `${served} were served`);
});
