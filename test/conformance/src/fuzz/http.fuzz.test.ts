import assert from "node:assert/strict";
import { Agent } from "node:http";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { openAccount, readReceipt, spentBy } from "../account.ts";
import { checkExchange, type Exchange } from "../exchange.ts";
import { codeOf, sendRaw } from "../raw.ts";
import { openTarget, type Target } from "../target.ts";
import { type FuzzRequest, fuzzRequest } from "./requests.ts";

/**
 * Whatever is sent: no 5xx of ours, no error outside its envelope, no hold that stays, no charge without a 2xx, and for
 * every 2xx a receipt; together the receipts are what the key has spent. A failure names the seed and the request.
 */
const isDeep = process.env.DEEP === "1";
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? (isDeep ? 1_000_000 : 20_000));
const WORKERS = 16;
/** So many requests of a worker lie between two looks at its books. */
const BATCH = 250;
const seed = Number(process.env.FUZZ_SEED ?? (isDeep ? Date.now() : 1));

let target: Target;
before(async () => {
  target = await openTarget();
});
after(() => target?.close());

test(`${REQUESTS} requests of every kind (seed ${seed})`, async (context) => {
  const batches = REQUESTS / BATCH;
  const counts = new Map<string, number>();
  let next = 0;
  await Promise.all(
    Array.from({ length: WORKERS }, async (_, index) => {
      const worker = await openWorker(index);
      while (next < batches) {
        next += 1;
        for (const outcome of await worker(seed + next)) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
      }
    }),
  );
  const status = await fetch(`${target.url}/api/v1/status`);
  const { data } = (await status.json()) as { data: { ceiling: { held_nano_usd: number } } };
  assert.equal(data.ceiling.held_nano_usd, 0, "the day's ceiling still holds something");
  context.diagnostic([...counts].map(([outcome, count]) => `${count} x ${outcome}`).join(", "));
  // Fuzzing that is never served, or never refused, looks at nothing.
  const served = counts.get("200") ?? 0;
  assert.ok(served > REQUESTS / 6 && served < REQUESTS / 2, `${served} were served`);
});

/** Sends a batch, one request after the other, and then holds its receipts against its key. Answers with outcomes. */
async function openWorker(index: number): Promise<(batchSeed: number) => Promise<string[]>> {
  const account = await openAccount(target, index % target.wallets.length);
  const [{ key }, session] = await Promise.all([account.makeKey(), account.signIn()]);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const credentials = { key: `Bearer ${key}`, session: `Bearer ${session}`, odd: "Bearer a\tb", none: undefined };
  let spentBefore = 0;

  return async function sendBatch(batchSeed) {
    const outcomes: string[] = [];
    const paid: { id: string; request: FuzzRequest }[] = [];
    for (const [place, request] of fc.sample(fuzzRequest, { numRuns: BATCH, seed: batchSeed }).entries()) {
      const credential = credentials[request.credential];
      const authorization = credential === undefined ? {} : { authorization: credential };
      const { method, path, body } = request;
      const headers = { ...request.headers, ...authorization };
      try {
        const exchange = await sendRaw(target.url, {
          method,
          path,
          headers,
          agent,
          ...(body === undefined ? {} : { body }),
        });
        checkExchange(exchange, target);
        assert.ok(exchange.status < 500, Buffer.from(exchange.body).toString());
        outcomes.push(exchange.status < 300 ? String(exchange.status) : `${exchange.status} ${codeOf(exchange)}`);
        if (request.credential === "key" && isPaid(exchange))
          paid.push({ id: exchange.headers.get("x-request-id") ?? "none", request });
      } catch (error) {
        throw new Error(`seed ${batchSeed}, request ${place}: ${show(request)}`, { cause: error });
      }
    }
    const spent = await spentBy(target, key);
    const charges = await Promise.all(
      paid.map(({ id, request }) =>
        readReceipt(target, key, id).then(
          (receipt) => receipt.charge_nano_usd,
          (cause: unknown) => Promise.reject(new Error(`seed ${batchSeed}: no receipt of ${show(request)}`, { cause })),
        ),
      ),
    );
    const charged = charges.reduce((total, charge) => total + charge, 0);
    assert.equal(spent - spentBefore, charged, `seed ${batchSeed}: the key's spending and its receipts`);
    spentBefore = spent;
    return outcomes;
  };
}

function isPaid({ method, path, status, headers }: Exchange): boolean {
  return method === "POST" && status === 200 && path.includes("/v1/") && !headers.has("idempotent-replayed");
}

function show({ method, path, credential, headers, body }: FuzzRequest): string {
  const text = body === undefined ? "" : Buffer.from(body).toString("latin1").slice(0, 2_000);
  return `${method} ${path} (${credential}) ${JSON.stringify(headers)} ${text}`;
}
