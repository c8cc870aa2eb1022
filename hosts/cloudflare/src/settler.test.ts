import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type PrimaryChain, startPrimaryChain } from "@inference/chain/testing/primary-chain";
import type { CommandType } from "@inference/ledger/commands";
import { chainPartition } from "@inference/ledger/partition";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import type { Address } from "@inference/protocol/credential";
import { eventually } from "@inference/protocol/testing/eventually";
import { DAY_MS, dayNumber } from "@inference/protocol/window";
import type { generationAnswer } from "@inference/protocol/wire/answers";
import { GRACE_MS } from "@inference/settler/carry";
import { createPublicClient, http, pad, stringToHex, zeroAddress, zeroHash } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import type * as z from "zod";
import { type Edge, startEdge } from "./testing/edge.ts";
import type { ChainEviction } from "./testing/evicting-chain-worker.ts";

/** The settler in the chain's object: from a request to its proof on a real chain, whenever the object is evicted. */
/** The key of the settler of `startPrimaryChain`. */
const privateKey = "0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a";
const address: Address = "0x00000000000000000000000000000000000000ca";
const METRICS = "metrics-token-of-this-test";
const DOLLAR = 1_000_000_000;

const isDeep = process.env.DEEP === "1";
/** Before one step. The runtime waits longer after each before it rings the alarm again. */
const evictions = isDeep ? 3 : 1;

let chain: PrimaryChain;
let edge: Edge;
let key: string;
/** The cost of every request, by its id. */
const charges = new Map<string, number>();

before(async () => {
  chain = await startPrimaryChain();
  await chain.activate(address, 5_000_000n);
  await chain.finalize();
  edge = await startEdge(
    {
      ...{ PRIMARY_RPC_URL: chain.rpcUrl, SETTLEMENT_ADDRESS: chain.settlement },
      ...{ SETTLEMENT_START_BLOCK: String(chain.startBlock), CHAIN_POLL_MS: "100" },
      ...{ SETTLER_ADDRESS: privateKeyToAddress(privateKey), POST_USD: "0.000000001", METRICS_TOKEN: METRICS },
    },
    {
      entry: new URL("testing/evicting-chain-worker.ts", import.meta.url),
      beside: {
        SETTLER_KEY: {
          entry: new URL("beside/settler-key.ts", import.meta.url),
          settings: {
            ...{ SETTLER_PRIVATE_KEY: privateKey, PRIMARY_CHAIN_ID: "31337", SETTLEMENT_ADDRESS: chain.settlement },
          },
        },
      },
    },
  );
  ({ key } = await edge.account(0, { address }));
  await eventually(async () => {
    const { data } = (await read("/api/v1/credits")) as { data: { total_credits: number } };
    assert.equal(data.total_credits, 5);
  });
});
after(async () => {
  await edge?.stop();
  await chain?.stop();
});

type Receipt = z.infer<typeof generationAnswer>["data"];
type Settlement = NonNullable<Receipt["settlement"]>;

async function read(path: string): Promise<unknown> {
  const response = await fetch(`${edge.url}${path}`, { headers: { authorization: `Bearer ${key}` } });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text);
}

const settlementOf = async (id: string): Promise<Settlement> =>
  ((await read(`/api/v1/generation?id=${id}`)) as { data: { settlement: Settlement } }).data.settlement;

async function request(): Promise<string> {
  const response = await edge.chat(key, { messages: [{ role: "user", content: "hello" }] });
  assert.equal(response.status, 200, await response.text());
  const id = response.headers.get("x-request-id") ?? "";
  await eventually(async () => {
    const { charge_nano_usd: charge } = ((await read(`/api/v1/generation?id=${id}`)) as { data: never }).data;
    charges.set(id, charge);
  });
  return id;
}

/** Makes blocks until the request is settled finally. */
async function untilFinal(id: string): Promise<Settlement> {
  let found: Settlement | undefined;
  await eventually(async () => {
    await chain.mine();
    found = await settlementOf(id);
    assert.equal(found.status, "final", JSON.stringify(found));
  });
  return found as Settlement;
}

const contract = () => createPublicClient({ transport: http(chain.rpcUrl) });
const abi = inferenceSettlementAbi;

/** By the contract, from what the receipt says. */
async function isProved(id: string, { ends_at_nano_usd, statement, proof, record }: Settlement): Promise<boolean> {
  const { data } = (await read(`/api/v1/generation?id=${id}`)) as { data: Receipt };
  assert.ok(statement !== null && proof !== null && record !== null);
  const cost = charges.get(id) ?? 0;
  const charged = ends_at_nano_usd - Math.max(statement.before_nano_usd, ends_at_nano_usd - cost);
  const use = {
    ...{ account: address, receipt: stringToHex(id, { size: 32 }), endsAtNanoUsd: BigInt(ends_at_nano_usd) },
    ...{ costNanoUsd: BigInt(cost), chargedNanoUsd: BigInt(charged), dayServed: BigInt(dayNumber(Date.now())) },
    ...{ server: zeroAddress, offerHash: zeroHash },
    snapshot: pad(`0x${data.price_snapshot}`, { dir: "right", size: 32 }),
  };
  const booked = {
    ...{ account: address, root: record.root as `0x${string}`, parts: [] },
    ...{ beforeNanoUsd: BigInt(record.before_nano_usd), amountNanoUsd: BigInt(record.amount_nano_usd) },
  };
  const [useProof, recordProof] = [proof, record.proof].map((nodes) => nodes as `0x${string}`[]);
  const args = [use, useProof ?? [], booked, recordProof ?? []] as const;
  return contract().readContract({ address: chain.settlement, abi, functionName: "verify", args });
}

/**
 * The chain has debited what all requests cost, by records that follow each other and pay statements of the account.
 */
async function checkBooks(): Promise<void> {
  const total = [...charges.values()].reduce((sum, charge) => sum + charge, 0);
  const credit = await contract().readContract({
    ...{ address: chain.settlement, abi, functionName: "creditNanoUsd", args: [address] },
  });
  assert.equal(credit, BigInt(5 * DOLLAR - total));
  let debited = 0;
  const query = { type: "records", account: address, afterNanoUsd: 0, limit: 1_000 } as const;
  for (const { beforeNanoUsd, amountNanoUsd, isOwn } of await edge.read(chainPartition(31337), query)) {
    assert.deepEqual([beforeNanoUsd, isOwn], [debited, 1]);
    debited += amountNanoUsd;
  }
  assert.equal(debited, total);
}

test("a request's charge is pending, posted and final, and the contract verifies its proof", async () => {
  const id = await request();
  const seen = new Set<string>();
  await eventually(async () => {
    const { status } = await settlementOf(id);
    seen.add(status);
    assert.equal(status, "posted");
  });
  const final = await untilFinal(id);
  assert.ok(seen.has("posted"));
  assert.equal(await isProved(id, final), true);
  await checkBooks();
  await eventually(async () => {
    const { settler } = ((await read("/api/v1/status")) as { data: { settler: unknown } }).data;
    assert.match(JSON.stringify(settler), /"state":"(idle|posting)".*"address":"0x/);
    const metrics = await (
      await fetch(`${edge.url}/metrics`, { headers: { authorization: `Bearer ${METRICS}` } })
    ).text();
    assert.match(metrics, /_settler_balance_wei [1-9]/);
    assert.match(metrics, /_settler_nonce [1-9]/);
    assert.match(metrics, /_settler_address\{address="0x[0-9a-f]{40}"\} 1\n/);
  });
});

async function evictAt(next: ChainEviction): Promise<void> {
  await fetch(`${edge.url}/__evict`, { method: "POST", body: JSON.stringify(next) });
}

async function evictionsLeft(): Promise<number> {
  return (await (await fetch(`${edge.url}/__evict`)).json()) as number;
}

const steps: CommandType[] = isDeep ? ["signChunk", "dropTransaction", "advance"] : ["signChunk", "advance"];
for (const step of steps) {
  // Outside the deep run each in its more dangerous moment: what is durable, and was not heard of.
  for (const moment of isDeep ? (["before", "after"] as const) : (["after"] as const)) {
    test(`a chunk survives the eviction of the chain's object ${moment} ${step}`, async () => {
      await evictAt({ step, moment, times: moment === "before" ? evictions : 1 });
      const id = await request();
      const final = await untilFinal(id);
      await eventually(async () => {
        await chain.mine();
        assert.equal(await evictionsLeft(), 0, "it was evicted");
      });
      assert.equal(await isProved(id, final), true);
      await checkBooks();
    });
  }
}

test("a chunk on its way survives the end of the process", async () => {
  const id = await request();
  await eventually(async () => assert.equal((await settlementOf(id)).status, "posted"));
  await edge.restart();
  assert.equal(await isProved(id, await untilFinal(id)), true);
  await checkBooks();
});

test("a day that is over is reconciled, and compared with the provider's bill", async () => {
  await eventually(async () => {
    const { data } = (await read("/api/v1/reconciliations")) as { data: object[] };
    // The Worker's clock is the machine's. Until the grace of a day is over the last day is the one before yesterday. The
    // ceiling no longer has its charges, so there is nothing to compare with the provider's.
    const amount = Date.now() % DAY_MS < GRACE_MS ? null : 0;
    const nothing = { unexplained_nano_usd: 0, listed_nano_usd: amount, provider_nano_usd: amount };
    assert.partialDeepStrictEqual(data.at(-1), nothing);
  });
});
