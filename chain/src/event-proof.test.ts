import assert from "node:assert/strict";
import { test } from "node:test";
import { account, clientOf } from "@inference/devnet/testing/local-chain";
import { fundUsdc } from "@inference/devnet/third-parties/usdc";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { x402DoorAbi } from "@inference/protocol/abi/x402-door";
import { type Hex, pad, parseSignature, toHex } from "viem";
import { proveAuthorization } from "./event-proof.ts";
import { createChainClient } from "./rpc.ts";
import { beginAnew, chain } from "./testing/shared-chain.ts";
import { timers } from "./testing/timers.ts";

beginAnew();

const rich = account(0);
const payer = account(7);
const VALUE = 5_000_000n;

const wallet = clientOf({ chainId: 31337, rpcUrl: chain.rpcUrl });
const node = createChainClient({ url: chain.rpcUrl, fetch, random: () => 0, timers });
const usdc = { address: chain.stablecoin, abi: stablecoinAbi } as const;
const door = { address: chain.door, abi: x402DoorAbi } as const;

/** A transfer to the door, signed as an x402 client signs it. */
async function signed(nonce: Hex) {
  const [name, version] = await Promise.all([
    wallet.readContract({ ...usdc, functionName: "name" }),
    wallet.readContract({ ...usdc, functionName: "version" }),
  ]);
  const message = {
    ...{ from: payer.address, to: chain.door, value: VALUE, nonce },
    ...{ validAfter: 0n, validBefore: 2n ** 40n },
  };
  const signature = await payer.signTypedData({
    domain: { name, version, chainId: 31337, verifyingContract: chain.stablecoin },
    types: { TransferWithAuthorization: TRANSFER_WITH_AUTHORIZATION },
    primaryType: "TransferWithAuthorization",
    message,
  });
  return { message, signature };
}

const TRANSFER_WITH_AUTHORIZATION = [
  { name: "from", type: "address" },
  { name: "to", type: "address" },
  { name: "value", type: "uint256" },
  { name: "validAfter", type: "uint256" },
  { name: "validBefore", type: "uint256" },
  { name: "nonce", type: "bytes32" },
] as const;

/** Executes the transfer on the stablecoin, behind `others` transactions in its block. Resolves to its hash. */
async function executeWithoutTheDoor(nonce: Hex, others: number): Promise<Hex> {
  const { message, signature } = await signed(nonce);
  const { from, to, value, validAfter, validBefore } = message;
  const { r, s, yParity } = parseSignature(signature);
  const fees = { gas: 200_000n, maxFeePerGas: 10n ** 10n };
  const [start] = await Promise.all([wallet.getTransactionCount({ address: rich.address }), chain.pauseMining()]);
  const hashes: Hex[] = [];
  for (let index = 0; index <= others; index += 1) {
    const order = { account: rich, ...fees, nonce: start + index };
    hashes.push(
      index === others
        ? await wallet.writeContract({
            ...{ ...usdc, ...order, functionName: "transferWithAuthorization" },
            args: [from, to, value, validAfter, validBefore, nonce, 27 + yParity, r, s],
          })
        : await wallet.writeContract({ ...usdc, ...order, functionName: "transfer", args: [payer.address, 0n] }),
    );
  }
  await chain.mine();
  return hashes[others] ?? "0x";
}

// The last of 141 transactions has a key of two bytes.
for (const others of [0, 1, 140]) {
  test(`a transfer without the door, in a block with ${others} before it, is proven and credited to its signer once`, async () => {
    const { rpcUrl, stablecoin } = chain;
    await fundUsdc({ rpcUrl, usdc: stablecoin, masterMinter: rich, to: payer.address, amount: VALUE });
    const nonce = toHex(others + 1, { size: 32 });
    const transaction = await executeWithoutTheDoor(nonce, others);
    const authorization = { stablecoin: chain.stablecoin, from: payer.address, nonce, transaction };
    assert.equal(await proveAuthorization(node, { ...authorization, nonce: pad("0x7") }), null);

    const proof = await proveAuthorization(node, authorization);
    assert.ok(proof !== null);
    await chain.mine();
    const { request } = await wallet.simulateContract({ ...door, functionName: "claim", args: [proof], account: rich });
    const hash = await wallet.writeContract(request);
    await chain.mine();
    assert.equal((await wallet.getTransactionReceipt({ hash })).status, "success");
    const credit = await wallet.readContract({
      ...{ address: chain.settlement, abi: inferenceSettlementAbi },
      ...{ functionName: "creditNanoUsd", args: [payer.address] },
    });
    assert.equal(credit, VALUE * 1_000n);
    await assert.rejects(wallet.simulateContract({ ...door, functionName: "claim", args: [proof] }), /AlreadyCredited/);
  });
}
