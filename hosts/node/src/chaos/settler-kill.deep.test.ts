import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { FINALITY_DEPTH } from "@inference/chain/testing/anvil";
import { type PrimaryChain, startPrimaryChain } from "@inference/chain/testing/primary-chain";
import { makeCredentials } from "@inference/gateway/auth/credentials";
import { makeKey } from "@inference/gateway/test/fund";
import { accountPartition, chainPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import type { Address } from "@inference/protocol/credential";
import { eventually } from "@inference/protocol/testing/eventually";
import { seededRandom } from "@inference/protocol/testing/seed";
import { createPublicClient, http } from "viem";
import { startProvider } from "../testing/site.ts";
import { withBooks } from "./books.ts";
import { gatewayEnvironment, gatewayUrl, launch } from "./processes.ts";

/**
 * The gateway with its settler is killed at random moments, while requests are made and posted and the chain's last
 * blocks are replaced. At the end every use is settled once, and ledger and chain are equal.
 */
const kills = 30;
/** The key of the settler of `startPrimaryChain`. */
const privateKey = "0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a";
const payers = [1, 2, 3].map((n): Address => `0x${String(n).repeat(40)}`);
const ACTIVATED_TOKEN = 50_000_000n;
const CLIENTS = 3;

const folder = mkdtempSync(join(tmpdir(), "settler-"));
const file = join(folder, "gateway.sqlite");
const secret = randomBytes(32);
const chance = seededRandom();
const credentials = makeCredentials(secret, { bytes: (length) => randomBytes(length) });
let chain: PrimaryChain;
let provider: Awaited<ReturnType<typeof startProvider>>;
const keys: string[] = [];

before(async () => {
  chain = await startPrimaryChain();
  provider = await startProvider();
  for (const payer of payers) {
    await chain.activate(payer, ACTIVATED_TOKEN);
    const { command, key } = makeKey(credentials, payer, {});
    await withBooks(file, (ledger) => ledger.run(() => send(accountPartition(payer), command)));
    keys.push(key);
  }
  await chain.finalize();
});
after(async () => {
  await provider?.close();
  await chain?.stop();
  rmSync(folder, { recursive: true });
});

function start() {
  return launch({
    script: "./victim.ts",
    env: {
      ...gatewayEnvironment({ databaseFile: file, secret: secret.toString("hex"), provider }),
      ...{ PRIMARY_RPC_URL: chain.rpcUrl, SETTLEMENT_ADDRESS: chain.settlement, CHAIN_POLL_MS: "50" },
      ...{
        SETTLEMENT_START_BLOCK: String(chain.startBlock),
        SETTLER_PRIVATE_KEY: privateKey,
        POST_USD: "0.000000001",
      },
    },
  });
}

/** A request is refused or lost when the gateway is killed. Answers whether it was served. */
async function ask(url: string, key: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const body = JSON.stringify({ model: "sim-small", max_tokens: 20, messages: [{ role: "user", content: "hello" }] });
  const response = await fetch(`${url}/api/v1/chat/completions`, { method: "POST", headers, body }).catch(() => null);
  await response?.text().catch(() => undefined);
  return response?.status === 200;
}

/**
 * Asks with some clients, each one request after the other, until it is told to stop. Answers how many were served.
 *
 * @param onServed Called with the number of requests that were served so far.
 */
async function askUntil(url: string, stopped: Promise<unknown>, onServed: (count: number) => void): Promise<number> {
  let isOver = false;
  let all = 0;
  void stopped.then(() => {
    isOver = true;
  });
  const served = await Promise.all(
    Array.from({ length: CLIENTS }, async (_, client) => {
      let count = 0;
      while (!isOver) {
        if (await ask(url, keys[client % keys.length] ?? "")) {
          count += 1;
          all += 1;
          onServed(all);
        }
        await sleep(20);
      }
      return count;
    }),
  );
  return served.reduce((sum, count) => sum + count, 0);
}

/** Makes a block every 50 ms, and sometimes replaces the last ones, until it is told to stop. */
async function liveOn(stopped: Promise<unknown>): Promise<number> {
  let isOver = false;
  let reorgs = 0;
  void stopped.then(() => {
    isOver = true;
  });
  for (let block = 0; !isOver; block++) {
    await chain.mine();
    if (block % 7 === 6) {
      await chain.reorg(1 + Math.floor(chance() * (FINALITY_DEPTH - 1)));
      reorgs += 1;
    }
    await sleep(50);
  }
  return reorgs;
}

const reader = () => createPublicClient({ transport: http(chain.rpcUrl) });
const settlement = () => ({ address: chain.settlement, abi: inferenceSettlementAbi }) as const;

test(`after ${kills} kills and reorgs every use is settled once, and the books equal the chain`, async () => {
  let served = 0;
  let reorgs = 0;
  for (let life = 0; life < kills; life++) {
    const victim = start();
    const url = gatewayUrl(await victim.ready);
    const last = 2 + Math.floor(chance() * 40);
    const enough = Promise.withResolvers<void>();
    const died = enough.promise.then(() => victim.kill());
    const asked = askUntil(url, died, (count) => {
      if (count >= last) enough.resolve();
    });
    const [more, replaced] = await Promise.all([asked, liveOn(died)]);
    served += more;
    reorgs += replaced;
    assert.equal((await died).signal, "SIGKILL", victim.stderr());
  }
  assert.ok(served > kills && reorgs > 0, `${served} requests were served, and ${reorgs} reorgs made`);

  const last = start();
  const url = gatewayUrl(await last.ready);
  await eventually(async () => {
    await chain.mine();
    const headers = { authorization: `Bearer ${keys[0]}` };
    const { data } = (await (await fetch(`${url}/api/v1/status`, { headers })).json()) as {
      data: { settler: { state: string; reason: string | null } };
    };
    assert.equal(data.settler.state, "idle", data.settler.reason ?? "");
    const debited = await reader().readContract({ ...settlement(), functionName: "totalDebitedNanoUsd" });
    assert.equal(debited, await settledInBooks(url));
  });
  await last.kill();
  await checkBooks();
});

/** The spending of all accounts by the gateway's answers. */
async function settledInBooks(url: string): Promise<bigint> {
  let sum = 0n;
  for (const key of keys) {
    const response = await fetch(`${url}/api/v1/credits`, { headers: { authorization: `Bearer ${key}` } });
    const { data } = (await response.json()) as { data: { total_usage: number } };
    sum += BigInt(Math.round(data.total_usage * 1e9));
  }
  return sum;
}

/** The records of each payer fill its line from 0, pay its own statements, and are those of the contract. */
async function checkBooks(): Promise<void> {
  await withBooks(file, async (ledger) => {
    for (const payer of payers) {
      const query = { type: "records", account: payer, afterNanoUsd: 0, limit: 10_000 } as const;
      let debitedNanoUsd = 0;
      for (const { beforeNanoUsd, amountNanoUsd, isOwn, chunk } of await ledger.read(chainPartition(31337), query)) {
        assert.deepEqual([beforeNanoUsd, isOwn], [debitedNanoUsd, 1], payer);
        const args = [chunk.id as `0x${string}`] as const;
        const block = await reader().readContract({ ...settlement(), functionName: "blockOf", args });
        assert.ok(block > 0n, `the contract does not know the chunk ${chunk.id}`);
        debitedNanoUsd += amountNanoUsd;
      }
      const totals = await reader().readContract({ ...settlement(), functionName: "accountOf", args: [payer] });
      assert.deepEqual(totals.slice(0, 2), [ACTIVATED_TOKEN * 1_000n, BigInt(debitedNanoUsd)], payer);
      const { settledNanoUsd } = await ledger.read(accountPartition(payer), { type: "balance", at: Date.now() });
      assert.equal(settledNanoUsd, debitedNanoUsd, payer);
      const uses = await ledger.read(accountPartition(payer), { type: "uses", afterNanoUsd: 0, limit: 100_000 });
      const ids = new Set(uses.map(({ receipt }) => receipt));
      assert.equal(ids.size, uses.length, "a request has two uses");
      const spent = uses.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0);
      assert.equal(spent, debitedNanoUsd, payer);
    }
  });
}
