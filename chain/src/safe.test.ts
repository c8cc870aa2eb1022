import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { account } from "@inference/devnet/testing/local-chain";
import { createSafe, deploySafeContracts, type SafeContracts } from "@inference/devnet/third-parties/safe";
import type { Address } from "@inference/protocol/credential";
import { encodeFunctionData, type Hex, hashMessage, parseAbi, serializeErc6492Signature, zeroAddress } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { type Anvil, startAnvil } from "./testing/anvil.ts";
import { readerOf } from "./testing/watch.ts";

/** Wallets of the real Safe's code, deployed and not deployed yet. */
const payer = account(0);
const owner = privateKeyToAccount(generatePrivateKey());
const stranger = privateKeyToAccount(generatePrivateKey());
const message = "example.com wants you to sign in";

let chain: Anvil;
let contracts: SafeContracts;
let safe: Address;
before(async () => {
  chain = await startAnvil();
  contracts = await deploySafeContracts(chain.rpcUrl, payer);
  safe = await createSafe({ rpcUrl: chain.rpcUrl, account: payer, contracts, owner: owner.address });
});
after(() => chain?.stop());

function accepts(address: Address, signature: Hex, text = message): Promise<boolean> {
  return readerOf(chain.rpcUrl, safe).acceptsSignature({ address, hash: hashMessage(text), signature });
}

/** As a Safe's owner signs a message of the Safe's. */
function signFor(address: Address, signer: typeof owner, text = message): Promise<Hex> {
  return signer.signTypedData({
    domain: { chainId: 31337, verifyingContract: address },
    types: { SafeMessage: [{ name: "message", type: "bytes" }] },
    primaryType: "SafeMessage",
    message: { message: hashMessage(text) },
  });
}

test("a Safe accepts its owner's signature of its message, and nothing else", async () => {
  assert.equal(await accepts(safe, await signFor(safe, owner)), true);
  assert.equal(await accepts(safe, await signFor(safe, owner), "another message"), false);
  assert.equal(await accepts(safe, await signFor(safe, stranger)), false);
  assert.equal(await accepts(safe, await signFor(contracts.safeSingleton, owner)), false);
  assert.equal(await accepts(safe, await owner.signMessage({ message })), false);
  assert.equal(await accepts(safe, "0x"), false);
});

test("a Safe that is not deployed yet accepts with the means to deploy it, and is not deployed by that", async () => {
  const setup = encodeFunctionData({
    abi: safeAbi,
    functionName: "setup",
    args: [[owner.address], 1n, zeroAddress, "0x", contracts.safeFallbackHandler, zeroAddress, 0n, zeroAddress],
  });
  const args = [contracts.safeSingleton, setup, 1n] as const;
  const data = encodeFunctionData({ abi: safeAbi, functionName: "createProxyWithNonce", args });
  const created = await chain.rpc<Hex>("eth_call", [{ to: contracts.safeProxyFactory, data }, "latest"]);
  const address: Address = `0x${created.slice(-40)}`;
  const wrap = (signature: Hex) => serializeErc6492Signature({ address: contracts.safeProxyFactory, data, signature });
  assert.equal(await accepts(address, wrap(await signFor(address, owner))), true);
  assert.equal(await accepts(address, wrap(await signFor(address, stranger))), false);
  assert.equal(await accepts(address, await signFor(address, owner)), false);
  assert.equal(await chain.rpc("eth_getCode", [address, "latest"]), "0x");
});

const safeAbi = parseAbi([
  "function createProxyWithNonce(address singleton, bytes initializer, uint256 saltNonce) returns (address proxy)",
  "function setup(address[] owners, uint256 threshold, address to, bytes data, address fallbackHandler, address paymentToken, uint256 payment, address paymentReceiver)",
]);
