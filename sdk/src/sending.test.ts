import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { parseTransaction } from "viem";
import { type Account, activate, activateFrom, mint, type Progress, type SignedTransaction } from "./index.ts";
import { isReplaced, untilFinal } from "./send.ts";
import {
  connectionTo,
  contracts,
  hex,
  quietNode,
  receiptOf,
  scriptedNode,
  signer,
  word,
} from "./testing/scripted-node.ts";

/** Sending through a node that lies, loses a transaction, or is behind another one. */
const DOLLAR = 1_000_000n;
const COIN = 10n ** 18n;
const hash = `0x${"b".repeat(64)}` as const;

const stopped = new Error("signed");
function untilSigned(signed: SignedTransaction[]) {
  return (progress: Progress): void => {
    if (progress.stage !== "signed") return;
    signed.push(progress);
    throw stopped;
  };
}

test("a node that names a high fee gets no signature, unless the limit is raised", async () => {
  const greedy = scriptedNode(1, (method) =>
    method === "eth_maxPriorityFeePerGas" ? hex(9n * 10n ** 13n) : undefined,
  );
  const signed: SignedTransaction[] = [];
  const options = { amountToken: DOLLAR, onProgress: untilSigned(signed) };
  const message = /asks for up to 9\.\d+ of the chain's coin .* limit is 0\.1\./;
  await rejects(activate(connectionTo(greedy, quietNode(2)), options), { code: "cost_too_high", message });
  equal(signed.length, 0);
  await rejects(activate(connectionTo(greedy, quietNode(2), { maxCostWei: 10n * COIN }), options), stopped);
  equal(signed.length, 1);
});

test("a node that names a high price of a message between chains gets no signature, unless the limit is raised", async () => {
  const greedy = scriptedNode(2, (method) => (method === "eth_call" ? word(9n * COIN) : undefined));
  const signed: SignedTransaction[] = [];
  const values = () => signed.map(({ serialized }) => parseTransaction(serialized).value);
  const options = { amountToken: DOLLAR, chainId: 2, onProgress: untilSigned(signed) };
  const message = /asks for up to 9 of the chain's coin .* limit is 0\.1\./;
  await rejects(activateFrom(connectionTo(quietNode(1), greedy), options), { code: "cost_too_high", message });
  equal(signed.length, 0);
  await rejects(activateFrom(connectionTo(quietNode(1), greedy, { maxCostWei: 10n * COIN }), options), stopped);
  deepEqual(values(), [9n * COIN]);
});

test("a minter whose scale does not fit the dollar's decimals gets no permit", async () => {
  let signatures = 0;
  const account: Account = {
    ...signer,
    signTypedData: (typed) => {
      signatures += 1;
      return signer.signTypedData(typed);
    },
  };
  const node = (decimals: bigint) =>
    scriptedNode(1, (method, [call]) => {
      if (method !== "eth_call") return undefined;
      const { to } = call as { to: string };
      return word(to === contracts.tokenMinter ? 1_000n : decimals);
    });
  const connection = connectionTo(node(6n), quietNode(2), { account });
  await rejects(mint(connection, { amountToken: DOLLAR }), {
    code: "wrong_contract",
    message: /takes 1000 .* 6 decimals/,
  });
  equal(signatures, 0);
});

test("a transaction that was in a block and is lost ends the wait", async () => {
  let polls = 0;
  const losing = scriptedNode(1, (method) => {
    if (method === "eth_getTransactionReceipt") polls += 1;
    // Its block 5 is not final, and then it is gone.
    if (method === "eth_getBlockByNumber") return undefined;
    return method === "eth_getTransactionReceipt" && polls < 3
      ? { ...Object(receiptOf(hash)), blockNumber: hex(200) }
      : undefined;
  });
  const waiting = untilFinal(connectionTo(losing, quietNode(2)), { chainId: 1, hash, step: "bridge" });
  await rejects(waiting, { code: "lost_transaction" });
  ok(polls > 10);
});

test("a node that does not answer for a while is no sign that a transaction is lost", async () => {
  let polls = 0;
  const down = scriptedNode(1, (method) => {
    if (method !== "eth_getTransactionReceipt" && method !== "eth_getTransactionByHash") return undefined;
    if (method === "eth_getTransactionReceipt") polls += 1;
    if (polls < 60) throw Object.assign(new Error("busy"), { code: -32_005 });
    return method === "eth_getTransactionReceipt" ? receiptOf(hash) : undefined;
  });
  const options = { chainId: 1, hash, step: "bridge" } as const;
  equal((await untilFinal(connectionTo(down, quietNode(2)), options)).transactionHash, hash);
});

test("a transaction counts as replaced once another one with its nonce is final, and not before", async () => {
  const serialized = await signer.signTransaction({
    ...{ type: "eip1559", chainId: 1, nonce: 7, to: signer.address, gas: 21_000n, maxFeePerGas: 1n },
  });
  const signed: SignedTransaction = { step: "mint", chainId: 1, hash, serialized };
  /** Two nodes behind one address: one knows of the used nonce, the other knows the receipt some polls later. */
  const balanced = (given: { receiptAfter: number; finalAfter: number }) => {
    let polls = 0;
    return scriptedNode(1, (method, params) => {
      if (method === "eth_getTransactionReceipt") {
        polls += 1;
        return polls > given.receiptAfter ? receiptOf(hash) : undefined;
      }
      if (method !== "eth_getTransactionCount") return undefined;
      return hex(params[1] === "finalized" && polls < given.finalAfter ? 7 : 8);
    });
  };
  const never = Number.POSITIVE_INFINITY;
  const mined = connectionTo(balanced({ receiptAfter: 3, finalAfter: never }), quietNode(2));
  equal(await isReplaced(mined, signed), false);
  const replaced = connectionTo(balanced({ receiptAfter: never, finalAfter: 3 }), quietNode(2));
  equal(await isReplaced(replaced, signed), true);
  equal(await isReplaced(connectionTo(quietNode(1), quietNode(2)), signed), false);
});
