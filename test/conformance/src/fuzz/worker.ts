import assert from "node:assert/strict";
import fc from "fast-check";
import { openAccount, readReceipts, spentBy } from "../account.ts";
import { checkExchange, type Exchange } from "../exchange.ts";
import { codeOf } from "../raw.ts";
import type { Target } from "../target.ts";
import type { FuzzRequest } from "./requests.ts";

/** Sends a request without normalization. */
export type Send = (request: Pick<FuzzRequest, "method" | "path" | "headers" | "body">) => Promise<Exchange>;

/** The number of a worker's requests between two checks of its receipts. */
export const BATCH = 250;
const WORKERS = 16;

export type Run = {
  requests: fc.Arbitrary<FuzzRequest>;
  count: number;
  seed: number;
  /** A way to send for each worker. */
  makeSend(): Send;
};

/**
 * For any request: no 5xx of the gateway's own, no error outside its envelope, no hold that stays, no charge without a
 * 2xx, and a receipt for every 2xx. The receipts add up to the key's spend. A failure names the seed and the request.
 * Answers with the number of requests of each outcome.
 */
export async function runFuzz(target: Target, { requests, count, seed, makeSend }: Run): Promise<Map<string, number>> {
  const batches = count / BATCH;
  const counts = new Map<string, number>();
  let next = 0;
  await Promise.all(
    Array.from({ length: WORKERS }, async (_, index) => {
      const worker = await openWorker(target, index, requests, makeSend());
      while (next < batches) {
        next += 1;
        for (const outcome of await worker(seed + next)) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
      }
    }),
  );
  const status = await fetch(`${target.url}/api/v1/status`);
  const { data } = (await status.json()) as { data: { ceiling: { held_nano_usd: number; limit_nano_usd: number } } };
  const { held_nano_usd: held, limit_nano_usd: limit } = data.ceiling;
  // At the edge busy accounts hold blocks of it for a minute, which are 5 % of it together.
  const inBlocks = target.front === "workerd" ? limit / 20 : 0;
  assert.ok(held <= inBlocks, `the day's ceiling still holds ${held}`);
  return counts;
}

/** Sends a batch, one request after the other, and then holds its receipts against its key. Answers with outcomes. */
async function openWorker(
  target: Target,
  index: number,
  requests: fc.Arbitrary<FuzzRequest>,
  send: Send,
): Promise<(batchSeed: number) => Promise<string[]>> {
  const account = await openAccount(target, index % target.wallets.length);
  const [{ key }, session] = await Promise.all([account.makeKey(), account.signIn()]);
  const credentials = { key: `Bearer ${key}`, session: `Bearer ${session}`, odd: "Bearer a\tb", none: undefined };
  let spentBefore = 0;

  return async function sendBatch(batchSeed) {
    const outcomes: string[] = [];
    const paid: { id: string; request: FuzzRequest }[] = [];
    for (const [place, request] of fc.sample(requests, { numRuns: BATCH, seed: batchSeed }).entries()) {
      const credential = credentials[request.credential];
      const authorization = credential === undefined ? {} : { authorization: credential };
      try {
        const exchange = await send({ ...request, headers: { ...request.headers, ...authorization } });
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
    const receipts = new Map((await readReceipts(target, key, BATCH)).map((receipt) => [receipt.id, receipt]));
    const charges = paid.map(({ id, request }) => {
      const receipt = receipts.get(id);
      assert.ok(receipt !== undefined, `seed ${batchSeed}: no receipt of ${show(request)}`);
      return receipt.charge_nano_usd;
    });
    const charged = charges.reduce((total, charge) => total + charge, 0);
    assert.equal(spent - spentBefore, charged, `seed ${batchSeed}: the key's spending and its receipts`);
    spentBefore = spent;
    return outcomes;
  };
}

function isPaid({ method, path, status, headers }: Exchange): boolean {
  const isFree = path.includes("/count_tokens");
  return method === "POST" && status === 200 && path.includes("/v1/") && !isFree && !headers.has("idempotent-replayed");
}

function show({ method, path, credential, headers, body }: FuzzRequest): string {
  const text = body === undefined ? "" : Buffer.from(body).toString("latin1").slice(0, 2_000);
  return `${method} ${path} (${credential}) ${JSON.stringify(headers)} ${text}`;
}
