import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type PrimaryChain, startPrimaryChain } from "@inference/chain/testing/primary-chain";
import type { TestAccount } from "@inference/gateway/test/fund";
import { accountPartition, agentPartition, ceilingPartition, chainPartition } from "@inference/ledger/partition";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import type { Address } from "@inference/protocol/credential";
import { eventually } from "@inference/protocol/testing/eventually";
import { statusAnswer } from "@inference/protocol/wire/answers";
import { createPublicClient, http } from "viem";
import { type Edge, startEdge } from "./testing/edge.ts";
import { hold } from "./testing/hold.ts";

/**
 * The calls of docs/restoring.md, on a real chain: parts are lost, or put back to older rows, and each use is debited
 * once, no credit is lost, and the difference is alerted. The platform's own part is the test's: see
 * `worker-under-test.ts`.
 */
/** The key of the settler of `startPrimaryChain`. */
const privateKey = "0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a";
const address: Address = "0x00000000000000000000000000000000000000ca";
const account = accountPartition(address);
const seller: Address = `0x${"c3".repeat(20)}`;
const agent = agentPartition(seller);
const CHAIN = chainPartition(31_337);

let chain: PrimaryChain;
let edge: Edge;
let own: TestAccount;
let stolen: TestAccount;
/** The cost of every served request. */
const charges: number[] = [];
const spent = () => charges.reduce((sum, charge) => sum + charge, 0);

before(async () => {
  chain = await startPrimaryChain();
  await chain.activate(address, 5_000_000n);
  await chain.finalize();
  edge = await startEdge({
    ...{ PRIMARY_RPC_URL: chain.rpcUrl, SETTLEMENT_ADDRESS: chain.settlement },
    ...{ SETTLEMENT_START_BLOCK: String(chain.startBlock), CHAIN_POLL_MS: "100" },
    ...{ SETTLER_PRIVATE_KEY: privateKey, POST_USD: "0.000000001", LOG_SLOTS: "3" },
  });
  own = await edge.account(0, { address });
  stolen = await edge.addKey(address);
  await untilRight();
});
after(async () => {
  await edge?.stop();
  await chain?.stop();
});

const operator = (method: string, ...args: unknown[]) => edge.object("operator", method, ...args);
const bill = () => edge.read(account, { type: "bill" });
const chat = (key: string) => edge.chat(key, { messages: [{ role: "user", content: "hello" }] });

async function ask(): Promise<void> {
  const response = await chat(own.key);
  assert.equal(response.status, 200, await response.text());
  const id = response.headers.get("x-request-id") ?? "";
  await eventually(async () => {
    const receipt = await edge.read(account, { type: "receipt", id });
    assert.equal(receipt?.state, "settled");
    charges.push(receipt?.chargeNanoUsd ?? 0);
  });
}

/** The chain debited what all requests cost, each once, and the account has heard what it activated and was debited. */
async function untilRight(): Promise<void> {
  const contract = { address: chain.settlement, abi: inferenceSettlementAbi, functionName: "accountOf" } as const;
  const reader = createPublicClient({ transport: http(chain.rpcUrl) });
  await eventually(async () => {
    await chain.mine();
    await fetch(`${edge.url}/healthz`);
    const [activated, debited] = await reader.readContract({ ...contract, args: [address] });
    assert.equal(Number(debited), spent());
    const { activatedNanoUsd, debitedNanoUsd, settledNanoUsd } = await bill();
    const expected = [Number(activated), Number(debited), Number(debited)];
    assert.deepEqual([activatedNanoUsd, debitedNanoUsd, settledNanoUsd], expected);
  });
  await eventually(async () => {
    const { books, settlement } = await status();
    assert.equal(books?.adds_up, true);
    assert.equal(settlement?.debited_nano_usd, spent());
    assert.equal(settlement?.waiting_nano_usd, 0);
    assert.equal(settlement?.foreign_nano_usd, foreignNanoUsd);
    const named = foreignNanoUsd === 0 ? [] : [{ account: address, foreign_nano_usd: foreignNanoUsd }];
    assert.deepEqual(
      settlement?.foreign_accounts.map(({ account, foreign_nano_usd }) => ({ account, foreign_nano_usd })),
      named,
    );
  });
}

/** The debits that the chain's partition knows no statement of. */
let foreignNanoUsd = 0;

async function status() {
  return statusAnswer.parse(await (await fetch(`${edge.url}/api/v1/status`)).json()).data;
}

/** The sums of debits that the account took over, by its alerts. */
async function alerted(): Promise<number> {
  const lines = await edge.said(`${account}: takes over debits of `);
  return lines.reduce((sum, line) => sum + Number(/debits of (\d+)/.exec(JSON.stringify(line))?.[1]), 0);
}

for (const state of ["before its first use", "of a moment ago"]) {
  test(`an account is put back to its state ${state}: what was debited since is taken over, and no key revives`, async () => {
    await edge.object(account, "copy", account);
    const before = spent();
    const heard = { alerted: await alerted(), takenOver: (await bill()).takenOverNanoUsd };
    const headers = { authorization: `Bearer ${await edge.openSession(address)}` };
    const revoked = await fetch(`${edge.url}/api/v1/keys/${stolen.keyId}`, { method: "DELETE", headers });
    assert.equal(revoked.status, 200);
    await ask();
    await ask();
    await chain.activate(address, 1_000_000n);
    await untilRight();

    await operator("restore", account.replace(/ca$/, "Ca"), Date.now());
    assert.equal((await bill()).settledNanoUsd, before, "it is the old one");
    assert.equal((await chat(stolen.key)).status, 401);
    await ask();
    await untilRight();
    const since = (charges.at(-2) ?? 0) + (charges.at(-3) ?? 0);
    assert.equal((await bill()).takenOverNanoUsd - heard.takenOver, since);
    assert.equal((await alerted()) - heard.alerted, since);
    stolen = await edge.addKey(address);
  });
}

test("an account whose object is lost is filled from its copy, and takes over what the copy lacks", async () => {
  await assert.rejects(operator("refill", account), "it has rows");
  const settled = async () => {
    const rows = (await edge.rows("receipt", account)) as { state: string }[];
    return rows.filter(({ state }) => state === "settled").length;
  };
  const before = { ...(await bill()), settled: await settled() };
  await assert.rejects(edge.object(account, "lose"));
  assert.equal((await bill()).settledNanoUsd, 0);
  await operator("refill", account.replace(/ca$/, "Ca"));
  await ask();
  await untilRight();
  const left = await settled();
  assert.ok(left > before.settled - 2, `${left} of ${before.settled} receipts, and one more`);
  assert.ok((await bill()).takenOverNanoUsd <= before.settledNanoUsd);
  await assert.rejects(operator("refill", accountPartition(`0x${"00".repeat(20)}`)), "it has no copy");
});

/** As an object that lost its rows. */
async function lose(partition: string, tables: readonly string[]): Promise<void> {
  const lost = await Promise.all(
    tables.map(async (table) => {
      const rows = (await edge.object(partition, "rows", partition, table)) as { id: string }[];
      return rows.map(({ id }) => ({ table, id, row: null }));
    }),
  );
  await edge.object(partition, "write", partition, lost.flat());
}

const usedOfCeiling = async () =>
  (await edge.read(ceilingPartition, { type: "ceiling", at: edge.now() })).settledNanoUsd;

test("a lost ceiling is told again what all accounts used", async () => {
  assert.equal(await operator("tellAgain", ceilingPartition), null);
  const before = await usedOfCeiling();
  await ask();
  await lose(ceilingPartition, ["allowance", "counter", "budget"]);
  assert.equal(await usedOfCeiling(), 0);
  assert.equal(await operator("tellAgain", ceilingPartition), null);
  assert.equal(await usedOfCeiling(), before + (charges.at(-1) ?? 0));
  await eventually(async () => {
    await chain.mine();
    const { limitNanoUsd } = await edge.read(ceilingPartition, { type: "ceiling", at: edge.now() });
    assert.equal(limitNanoUsd, 50_000_000_000);
  });
  await ask();
  await untilRight();
});

test("a debit that another settler posts with our key is taken over, and the books name the account and the amount", async () => {
  const before = await bill();
  await chain.settle([{ account: address, before: before.debitedNanoUsd, amount: 7 }]);
  charges.push(7);
  foreignNanoUsd = 7;
  await untilRight();
  assert.equal((await bill()).takenOverNanoUsd, before.takenOverNanoUsd + 7);
  await ask();
  await untilRight();
});

test("a lost chain partition is read again, and changes no account", async () => {
  const before = await bill();
  // It is the list of the records that were this ledger's.
  foreignNanoUsd = before.debitedNanoUsd;
  await lose(CHAIN, ["cursor", "payer", "told", "record", "chunk", "counter"]);
  // A call that fails is made again, as that of a poll which found half of the rows.
  await eventually(() => operator("reread").then(() => true));
  await chain.finalize();
  await eventually(async () => {
    const response = await chat(own.key);
    assert.equal(response.status, 200, await response.text());
    const id = response.headers.get("x-request-id") ?? "";
    charges.push((await edge.read(account, { type: "receipt", id }))?.chargeNanoUsd ?? 0);
  });
  await untilRight();
  assert.equal((await bill()).takenOverNanoUsd, before.takenOverNanoUsd);
});

async function sell(amountNanoUsd: number): Promise<string> {
  const id = `req_${amountNanoUsd}`;
  const server = { agent: seller, offer: "h1" };
  const held = await hold(edge.put, account, { id, digest: own.digest, at: edge.now(), amountNanoUsd, server });
  if (held !== "reserved") return held;
  const end = { chargeNanoUsd: amountNanoUsd, lossNanoUsd: 0, detail: "{}", snapshot: "00" };
  await edge.put(account, { type: "settle", id, at: edge.now(), ...end });
  charges.push(amountNanoUsd);
  return held;
}

test("an agent's identity is put back, and sells nothing until it was told again what it sold", async () => {
  const at = edge.now();
  await edge.put(agent, { type: "setCapacity", at, limitNanoUsd: 1_000 });
  const signed = { hash: "h1", day: 0, shareBps: 10_000, nonce: 1, computer: "0xc", owner: "0xd" };
  await edge.put(agent, { type: "setOffer", at, ...signed });
  const sold = async () => (await edge.read(agent, { type: "offer", at })).soldNanoUsd;
  assert.equal(await sell(100), "reserved");
  await eventually(async () => assert.equal(await sold(), 100));
  await edge.object(agent, "copy", agent);
  assert.equal(await sell(300), "reserved");
  await eventually(async () => assert.equal(await sold(), 400));

  const asItsOwnerWrites = agent.replace("c3", "C3");
  await operator("restore", asItsOwnerWrites, Date.now());
  assert.equal(await sold(), 0);
  assert.equal(await operator("tellAgain", asItsOwnerWrites), null);
  assert.equal(await sold(), 400);
  assert.equal(await sell(200), "reserved");
});

test("the ceiling is never put back, also where there is a copy", async () => {
  await operator("tellAgain", ceilingPartition);
  await edge.object(ceilingPartition, "copy", ceilingPartition);
  const before = await usedOfCeiling();
  await ask();
  await operator("tellAgain", ceilingPartition);
  await assert.rejects(operator("restore", ceilingPartition, Date.now()));
  assert.equal(await usedOfCeiling(), before + (charges.at(-1) ?? 0));
});
