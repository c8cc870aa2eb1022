import assert from "node:assert/strict";
import { before, test } from "node:test";
import { type ChainClient, createChainClient, RpcError } from "@inference/chain/rpc";
import { FINALITY_DEPTH } from "@inference/chain/testing/anvil";
import type { TestRecord } from "@inference/chain/testing/primary-chain";
import { chain as real } from "@inference/chain/testing/shared-chain";
import { timers } from "@inference/chain/testing/timers";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import type { Address } from "@inference/protocol/credential";
import { encodeEventTopics, encodeFunctionData, type Hex, keccak256 } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { settleCall } from "../settlement-contract.ts";
import { createSimulatedChain } from "./simulated-chain.ts";
import { createSimulatedNode } from "./simulated-node.ts";

/** The model against the real contract on a real chain: the same sequence has the same answers. */
const account = privateKeyToAccount("0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a");
const [one, two]: [Address, Address] = [`0x${"1".repeat(40)}`, `0x${"2".repeat(40)}`];
/** Pays for the activations of `startPrimaryChain`. */
const payer: Address = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const ROOT: Hex = `0x${"ab".repeat(32)}`;
const OTHER_ROOT: Hex = `0x${"cd".repeat(32)}`;
const SETTLED = encodeEventTopics({ abi: inferenceSettlementAbi, eventName: "Settled" })[0];

type RawLog = { topics: Hex[]; data: Hex; blockNumber: Hex };

before(() => real.reset());

/** The operations of a sequence, on the real or the simulated chain. */
type Chain = {
  client: ChainClient;
  settlement: Address;
  activate(account: Address, amountToken: bigint): Promise<void>;
  lowerCeiling(toNanoUsd: bigint): Promise<void>;
  /** A block at this time, in seconds, with the waiting transactions. */
  mine(time: number): Promise<void>;
  reorg(depth: number): Promise<void>;
};

async function realChain(): Promise<Chain> {
  const client = createChainClient({ url: real.rpcUrl, fetch, random: () => 0.5, timers, tries: 1 });
  await real.pauseMining();
  return {
    ...{ client, settlement: real.settlement, activate: real.activate, lowerCeiling: real.lowerCeiling },
    async mine(time) {
      await real.rpc("evm_setNextBlockTimestamp", [time]);
      await real.mine();
    },
    reorg: (depth) => real.reorg(depth),
  };
}

function simulated(time: number, settlement: Address): Chain {
  const chain = createSimulatedChain({
    ...{ settlement, settler: account.address, chainId: 31337, finalityDepth: FINALITY_DEPTH, time },
  });
  return {
    ...{ client: createSimulatedNode(chain), settlement },
    activate: async (account, amount) => chain.activate(account, amount, payer),
    lowerCeiling: async (to) => chain.setCeiling(to),
    mine: async (time) => chain.mine({ time, takes: true }),
    reorg: async (depth) => chain.reorg(depth, { returns: false }),
  };
}

/** Plays the sequence, and answers with all that the node said. */
async function play({ client, settlement, ...chain }: Chain, start: number): Promise<unknown[]> {
  const said: unknown[] = [];
  const from = account.address;
  const first = Number(await client.request("eth_blockNumber", []));
  const day = Math.floor(start / 86_400);
  let sent: { hash: Hex; raw: Hex }[] = [];

  async function ask(method: string, params: readonly unknown[]): Promise<unknown> {
    try {
      return await client.request(method, params);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return { error: error.data ?? error.message.replace(/ \(.*/, "") };
    }
  }
  const settle = (onDay: number, records: readonly TestRecord[]): Hex =>
    settleCall(
      settlement,
      onDay,
      records.map(({ account, before, amount, root = ROOT }) => {
        return { account, beforeNanoUsd: before, amountNanoUsd: amount, root, parts: [] };
      }),
    ).data;
  async function simulate(data: Hex, sender: Address | undefined = from): Promise<void> {
    said.push(await ask("eth_call", [{ from: sender, to: settlement, data }, "latest"]));
  }
  async function send(data: Hex, nonce: number, gwei: bigint, gas = 400_000n): Promise<void> {
    const fees = { maxFeePerGas: gwei * 10n ** 9n, maxPriorityFeePerGas: gwei * 10n ** 8n };
    const raw = await account.signTransaction({
      type: "eip1559",
      chainId: 31337,
      to: settlement,
      data,
      nonce,
      gas,
      ...fees,
    });
    sent = [...sent, { hash: keccak256(raw), raw }];
    const answer = await ask("eth_sendRawTransaction", [raw]);
    said.push(typeof answer === "string" ? "taken" : "refused");
  }
  /** The contract's and the account's state, the fate of every transaction, and every event. */
  async function look(): Promise<void> {
    const view = (functionName: string, args: readonly unknown[] = []) =>
      encodeFunctionData({ abi: inferenceSettlementAbi, functionName, args } as never);
    const views = [view("accountOf", [one]), view("accountOf", [two]), view("totalDebitedNanoUsd")];
    const more = [view("activationCount"), view("totalActivated"), view("ceilingNanoUsd")];
    const days = [-1, 0, 1].flatMap((after) => {
      const args = [BigInt(day + after)];
      return [view("paidNanoUsd", args), view("ceilingOn", args)];
    });
    for (const data of [...views, ...more, ...days]) await simulate(data, undefined);
    said.push(await ask("eth_getTransactionCount", [from, "latest"]));
    said.push(await ask("eth_getTransactionCount", [from, "pending"]));
    for (const { hash } of sent) {
      const receipt = (await ask("eth_getTransactionReceipt", [hash])) as Record<string, string> | null;
      said.push(receipt === null ? null : [receipt.status, Number(receipt.blockNumber) - first]);
    }
    const [fromBlock, toBlock] = [`0x${(first + 1).toString(16)}`, await ask("eth_blockNumber", [])];
    const logs = (await ask("eth_getLogs", [{ address: settlement, fromBlock, toBlock }])) as RawLog[];
    const final = (await ask("eth_getBlockByNumber", ["finalized", false])) as Record<string, string>;
    said.push(logs.map(({ topics, data, blockNumber }) => [topics, data, Number(blockNumber) - first]));
    for (const { topics } of logs.filter(({ topics }) => topics[0] === SETTLED)) {
      const stored = await ask("eth_call", [{ to: settlement, data: view("blockOf", [topics[2]]) }, "latest"]);
      said.push(Number(stored) - first);
    }
    said.push(Number(toBlock) - Math.max(Number(final.number), first));
  }

  let time = start;
  const mine = () => {
    time += 12;
    return chain.mine(time);
  };
  await chain.activate(one, 5_000_000n);
  await chain.activate(two, 1_000_000n);
  await mine();
  await look();
  // Refused and accepted chunks.
  await simulate(settle(day, [{ account: one, before: 0, amount: 5 }]), two);
  await simulate(settle(day + 1, [{ account: one, before: 0, amount: 5 }]));
  await simulate(settle(day - 1, [{ account: one, before: 0, amount: 5 }]));
  await simulate(settle(day, [{ account: one, before: 4, amount: 2 }]));
  await simulate(settle(day, []));
  // One is replaced by a better one, one is too cheap to replace it, one comes too early.
  const both = settle(day, [
    { account: one, before: 0, amount: 5 },
    { account: two, before: 1, amount: 6 },
    { account: two, before: 0, amount: 10 ** 9 + 1 },
    { account: one, before: 5, amount: 7, root: OTHER_ROOT },
  ]);
  await send(both, 0, 10n);
  await send(both, 0, 10n);
  await send(both, 0, 11n);
  await send(both, 0, 20n, 400_001n);
  await send(settle(day, [{ account: one, before: 12, amount: 7 }]), 1, 20n);
  await look();
  await mine();
  await look();
  await send(both, 0, 40n);
  // It vanishes.
  await chain.reorg(1);
  await look();
  await send(both, 0, 20n, 400_001n);
  // Again, when nothing of it is left to debit.
  await send(both, 1, 20n);
  await mine();
  await look();
  // A ceiling that is lowered by the amount paid and 1,000.
  await chain.lowerCeiling(10n ** 9n + 1_012n);
  await mine();
  await send(settle(day, [{ account: one, before: 12, amount: 1_001 }]), 2, 20n);
  await mine();
  await simulate(settle(day, [{ account: one, before: 1_012, amount: 1 }]));
  await look();
  // Too little gas, then tomorrow.
  await send(settle(day, [{ account: one, before: 1_012, amount: 989 }]), 3, 20n, 60_000n);
  await mine();
  await look();
  time = (day + 1) * 86_400 + 6 * 3_600 - 13;
  await mine();
  await look();
  await simulate(settle(day, [{ account: one, before: 1_012, amount: 989 }]));
  await send(settle(day + 1, [{ account: one, before: 1_012, amount: 988 }]), 4, 20n);
  await mine();
  await chain.lowerCeiling(900n);
  await mine();
  await look();
  await simulate(settle(day, [{ account: one, before: 2_000, amount: 889 }]));
  await simulate(settle(day + 1, [{ account: one, before: 2_000, amount: 1 }]));
  for (let block = 0; block <= FINALITY_DEPTH; block++) await mine();
  await look();
  return said;
}

test("the simulated chain answers as the contract on a real chain does", async () => {
  const chain = await realChain();
  const { timestamp } = (await chain.client.request("eth_getBlockByNumber", ["latest", false])) as { timestamp: Hex };
  // Noon of the next day.
  const start = (Math.floor(Number(timestamp) / 86_400) + 1) * 86_400 + 43_200;
  await chain.mine(start);
  const expected = await play(chain, start);
  const found = await play(simulated(start, chain.settlement), start);
  assert.deepEqual(found, expected);
});
