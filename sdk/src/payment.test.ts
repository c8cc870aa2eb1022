import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { inferenceTokenAbi } from "@inference/protocol/abi/inference-token";
import { eventually } from "@inference/protocol/testing/eventually";
import { encodeEventTopics, type Transport, zeroAddress } from "viem";
import type { WalletAccount } from "./connection.ts";
import { giveUp, isBurned, type Payment, phaseOf, runPayment } from "./payment.ts";
import type { Progress } from "./progress.ts";
import {
  connectionTo,
  contracts,
  logOf,
  payingNode,
  quietNode,
  receiptOf,
  signer,
  walletThat,
  word,
} from "./testing/scripted-node.ts";

/** The payment machine with a wallet that sends by itself. `devnet.test.ts` runs it with a key. */
const hash = `0x${"d".repeat(64)}` as const;
const { address } = signer;
const payment: Payment = {
  ...{ chainId: 1, amountToken: "1000000", pay: "approve", isMinted: false, isCredited: false },
  ...{ kept: null, shown: null },
};
const asked = {
  ...({ step: "mint" } as const),
  ...{ chainId: 1, fromBlock: 1, moves: { from: zeroAddress, to: address, amountToken: "1000000" }, allows: null },
};

function run(account: WalletAccount, node: Transport, given: Payment) {
  let state = given;
  const ending = new AbortController();
  const keep = (next: Payment): void => {
    state = next;
  };
  const connection = connectionTo(node, quietNode(2), { account });
  const ended = runPayment(connection, given, { keep, mayAsk: true, signal: ending.signal });
  ended.catch(() => {});
  return { ended, state: () => state, stop: () => ending.abort(new Error("stopped")) };
}

const failing = (code: number) => walletThat(() => Promise.reject(Object.assign(new Error("no"), { code })));

test("after an error of the wallet other than a refusal, its request is kept and searched for, not repeated", async () => {
  const wallet = failing(-32_603);
  const first = run(wallet, payingNode(), payment);
  await rejects(first.ended, { code: "wallet_failed" });
  equal(first.state().kept?.step, "mint");
  let searches = 0;
  const node = payingNode((method) => {
    if (method === "eth_blockNumber") searches += 1;
    return undefined;
  });
  const second = run(wallet, node, first.state());
  await eventually(() => searches > 2);
  second.stop();
  await rejects(second.ended, /stopped/);
  deepEqual([wallet.asked, second.state().kept?.step], [1, "mint"]);
});

test("a declined request is asked again", async () => {
  const wallet = failing(4_001);
  const first = run(wallet, payingNode(), payment);
  await rejects(first.ended, { code: "wallet_rejected" });
  equal(first.state().kept, null);
  await rejects(run(wallet, payingNode(), first.state()).ended, { code: "wallet_rejected" });
  equal(wallet.asked, 2);
});

test("a transaction that reverted is over", async () => {
  const node = payingNode((method) =>
    method === "eth_getTransactionReceipt" ? receiptOf(hash, { isReverted: true }) : undefined,
  );
  const reverted = run(failing(4_001), node, { ...payment, kept: { ...asked, hash } });
  await rejects(reverted.ended, { name: "ContractError", hash });
  equal(reverted.state().kept, null);
});

const topics = encodeEventTopics({
  ...{ abi: inferenceTokenAbi, eventName: "Transfer", args: { from: zeroAddress, to: address } },
});
const transfer = logOf(contracts.inferenceToken, { topics, data: word(1_000_000n), hash, block: 50 });
const minted = payingNode((method) => {
  if (method === "eth_getLogs") return [transfer];
  return method === "eth_getTransactionReceipt" ? receiptOf(hash, { logs: [transfer] }) : undefined;
});

test("a request is given up only if the chain does not show it, and is searched for before the next one", async () => {
  const begun: Payment = { ...payment, kept: asked };
  deepEqual((await giveUp(connectionTo(minted, quietNode(2)), begun)).kept, { ...asked, hash });
  const given = await giveUp(connectionTo(payingNode(), quietNode(2)), begun);
  deepEqual([given.kept, given.unsent], [null, [asked]]);
  // The owner confirmed the open request in the meantime.
  const wallet = walletThat(() => new Promise<never>(() => {}));
  const late = run(wallet, minted, given);
  await eventually(() => wallet.asked === 1);
  deepEqual([late.state().isMinted, late.state().kept?.step, late.state().unsent], [true, "activate", []]);
});

for (const [stage, phase, isGone] of [
  ["asked", "activate", false],
  ["sent", "final", false],
  ["confirmed", "final", true],
  ["final", "credit", true],
  ["waiting", "credit", true],
] as const satisfies [Progress["stage"], ReturnType<typeof phaseOf>, boolean][]) {
  test(`an activation that is ${stage} is in the phase ${phase}`, () => {
    const step = "activate" as const;
    const shown = { step, stage, hash, waitsFor: null, dueAt: null };
    const kept = { ...asked, step, ...(stage === "asked" ? {} : { hash }) };
    const state: Payment = { ...payment, isMinted: true, kept, shown };
    deepEqual([phaseOf(state), isBurned(state)], [phase, isGone]);
    equal(phaseOf({ ...state, isCredited: true }), "done");
    equal(phaseOf({ ...state, isMinted: false }), "pay");
  });
}
