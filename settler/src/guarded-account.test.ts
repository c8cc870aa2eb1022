import assert from "node:assert/strict";
import { test } from "node:test";
import type { Address } from "@inference/protocol/credential";
import { parseTransaction, zeroHash } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { guardedAccount, MAX_FEE_PER_GAS_WEI, MAX_TRANSACTION_GAS } from "./guarded-account.ts";
import { type SettlerTransaction, settleCall } from "./settlement-contract.ts";

const settlement: Address = "0x00000000000000000000000000000000000005e7";
const stranger: Address = "0x00000000000000000000000000000000000000ca";
const account = guardedAccount(generatePrivateKey(), { settlement, chainId: 31_337 });
const record = { account: stranger, beforeNanoUsd: 0, amountNanoUsd: 1, root: zeroHash, parts: [] };
const chunk = settleCall(settlement, 20_000, [record]);
const terms: Omit<SettlerTransaction, "to" | "data"> = {
  ...{ type: "eip1559", chainId: 31_337, nonce: 7, gas: MAX_TRANSACTION_GAS },
  ...{ maxFeePerGas: MAX_FEE_PER_GAS_WEI, maxPriorityFeePerGas: 1n },
};

test("a guarded key signs chunks for its contract and transfers of nothing to itself, on its own chain", async () => {
  for (const call of [chunk, { to: account.address, data: "0x" } as const]) {
    const asked = { ...terms, ...call, chainId: 1, value: 1n };
    const { chainId, value, to, nonce } = parseTransaction(await account.signTransaction(asked));
    assert.deepEqual([chainId, value, to, nonce], [31_337, undefined, call.to, 7]);
  }
});

test("a guarded key signs no other call, and pays no more than a settler may", async () => {
  const others: Partial<SettlerTransaction>[] = [
    { to: stranger },
    { data: "0x" },
    { data: `0xa9059cbb${chunk.data.slice(10)}` },
    { to: stranger, data: "0x" },
    { to: account.address },
    { gas: MAX_TRANSACTION_GAS + 1n },
    { maxFeePerGas: MAX_FEE_PER_GAS_WEI + 1n },
  ];
  for (const other of others) {
    await assert.rejects(account.signTransaction({ ...terms, ...chunk, ...other }), /^Error: The settler's key/);
  }
});
