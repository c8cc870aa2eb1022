import assert from "node:assert/strict";
import { test } from "node:test";
import { type ChainClient, createChainClient, RpcError } from "@inference/chain/rpc";
import { FINALITY_DEPTH } from "@inference/chain/testing/anvil";
import { chain as real } from "@inference/chain/testing/shared-chain";
import { timers } from "@inference/chain/testing/timers";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import type { Address } from "@inference/protocol/credential";
import { encodeFunctionData, type Hex, keccak256 } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { settleCall } from "../settlement-contract.ts";
import { createSimulatedChain } from "./simulated-chain.ts";
import { createSimulatedNode } from "./simulated-node.ts";

/** The model against the real contract on a real chain: the same sequence has the same answers. */
const account = privateKeyToAccount("0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a");
const [one, two]: [Address, Address] = [`0x${"1".repeat(40)}`, `0x${"2".repeat(40)}`];
/** Pays for the chain's activations. */
const payer: Address = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const root: Hex = `0x${"ab".repeat(32)}`;

/** What a sequence does to a chain, whichever it is. */
type Chain = {
  client: ChainClient;
  settlement: Address;
  activate(account: Address, amountToken: bigint): Promise<void>;
  lowerCeiling(toNanoUsd: bigint): Promise<void>;
  /** A block at this time, in seconds, with what waits. */
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
  let sent: { hash: Hex; raw: Hex }[] = [];

  async function ask(method: string, params: readonly unknown[]): Promise<unknown> {
    try {
      return await client.request(method, params);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return { error: error.data ?? error.message.replace(/ \(.*/, "") };
    }
  }
  const batch = (id: number, day: number, debits: [Address, bigint][], itsRoot = root): Hex =>
    settleCall(id, day, {
      ...{ root: itsRoot, amountNanoUsd: 0, digest: root },
      entries: debits.map(([account, amountNanoUsd]) => ({ account, amountNanoUsd, served: undefined, uses: [] })),
    });
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
  /** The contract's and the account's state, what became of every transaction, and every event. */
  async function look(): Promise<void> {
    const view = (functionName: string, args: readonly unknown[] = []) =>
      encodeFunctionData({ abi: inferenceSettlementAbi, functionName, args } as never);
    const views = [view("batchCount"), view("rootOf", [1n]), view("rootOf", [2n]), view("totalDebitedNanoUsd")];
    const more = [view("creditNanoUsd", [one]), view("creditNanoUsd", [two]), view("activationCount")];
    const days = [0n, 1n].map((after) => view("paidNanoUsd", [BigInt(Math.floor(start / 86_400)) + after]));
    for (const data of [...views, ...more, ...days, view("ceilingNanoUsd"), view("totalActivated")]) {
      await simulate(data, undefined);
    }
    said.push(await ask("eth_getTransactionCount", [from, "latest"]));
    for (const { hash } of sent) {
      const receipt = (await ask("eth_getTransactionReceipt", [hash])) as Record<string, string> | null;
      said.push(receipt === null ? null : [receipt.status, Number(receipt.blockNumber) - first]);
    }
    const [fromBlock, toBlock] = [`0x${(first + 1).toString(16)}`, await ask("eth_blockNumber", [])];
    const logs = (await ask("eth_getLogs", [{ address: settlement, fromBlock, toBlock }])) as Record<string, string>[];
    const final = (await ask("eth_getBlockByNumber", ["finalized", false])) as Record<string, string>;
    said.push(logs.map(({ topics, data, blockNumber }) => [topics, data, Number(blockNumber) - first]));
    said.push(Number(toBlock) - Math.max(Number(final.number), first));
  }

  const day = Math.floor(start / 86_400);
  let time = start;
  const mine = () => {
    time += 12;
    return chain.mine(time);
  };
  await chain.activate(one, 5_000_000n);
  await chain.activate(two, 1_000_000n);
  await mine();
  await look();
  // What the contract refuses, in its order.
  await simulate(batch(1, day, [[one, 5n]]), two);
  await simulate(batch(2, day, [[one, 5n]]));
  await simulate(batch(1, day, []));
  await simulate(
    batch(
      1,
      day,
      Array.from({ length: 201 }, () => [one, 1n]),
    ),
  );
  await simulate(batch(1, day, [[one, 5n]], `0x${"0".repeat(64)}`));
  await simulate(batch(1, day + 1, [[one, 5n]]));
  await simulate(batch(1, day - 1, [[two, 10n ** 9n + 1n]]));
  await simulate(
    batch(1, day, [
      [one, 4n * 10n ** 9n],
      [one, 10n ** 9n],
      [one, 1n],
    ]),
  );
  await simulate(
    batch(1, day, [
      [one, 5n],
      [two, 6n],
    ]),
  );
  // One is replaced by a better one, one is too cheap to replace it, one comes too early.
  const settle = batch(1, day, [
    [one, 5n],
    [two, 6n],
  ]);
  await send(settle, 0, 10n);
  await send(settle, 0, 10n);
  await send(settle, 0, 11n);
  await send(settle, 0, 20n, 400_001n);
  await send(batch(2, day, [[one, 7n]]), 1, 20n);
  await look();
  await mine();
  await look();
  await simulate(settle);
  await send(settle, 0, 40n);
  // It vanishes.
  await chain.reorg(1);
  await look();
  await send(settle, 0, 20n, 400_001n);
  await send(settle, 1, 20n);
  await mine();
  await look();
  // A ceiling that is lowered, by what was paid of it.
  await chain.lowerCeiling(1_000n);
  await mine();
  await simulate(batch(2, day, [[one, 990n]]));
  await simulate(batch(2, day, [[one, 989n]]));
  // Too little gas, then tomorrow.
  await send(batch(2, day, [[one, 989n]]), 2, 20n, 60_000n);
  await mine();
  await look();
  time = (day + 1) * 86_400 + 6 * 3_600 - 13;
  await mine();
  await simulate(batch(2, day, [[one, 989n]]));
  await simulate(batch(2, day, [[one, 990n]]));
  await simulate(batch(2, day + 1, [[one, 1_000n]]));
  await chain.lowerCeiling(900n);
  await mine();
  await simulate(batch(2, day, [[one, 889n]]));
  await simulate(batch(2, day + 1, [[one, 901n]]));
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
