import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { concatHex, getContractAddress, type Hex, hashMessage, serializeErc6492Signature, zeroHash } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { type Anvil, startAnvil } from "./testing/anvil.ts";
import { NODE_FAILURES, shareLiar } from "./testing/liar.ts";
import { readerOf } from "./testing/watch.ts";

let chain: Anvil;
before(async () => {
  chain = await startAnvil();
});
after(() => chain?.stop());
const node = shareLiar(() => chain.rpcUrl);

const wallet: Address = "0x00000000000000000000000000000000000a11e7";
const message = "example.com wants you to sign in";
const signature: Hex = `0x${"11".repeat(65)}`;
const MAGIC = `7f1626ba7e${"0".repeat(56)}5f5260205ff3`;
/** Anvil's CREATE2 deployer. */
const FACTORY: Address = "0x4e59b44847b379578588920cA78FbF26c0B4956C";

function accepts(query: { address: Address; signature?: Hex }): Promise<boolean> {
  return readerOf(node.url, wallet).acceptsSignature({ hash: hashMessage(message), signature, ...query });
}
const setCode = (code: string) => chain.rpc("anvil_setCode", [wallet, `0x${code}`]);

test("a contract wallet that accepts is accepted", async () => {
  await setCode(MAGIC);
  assert.equal(await accepts({ address: wallet }), true);
});

const refusing = {
  "no contract": "",
  "a contract that answers something else": MAGIC.replace("1626ba7e", "deadbeef"),
  "a contract that answers nothing": "00",
  "a contract that reverts": "5f5ffd",
  "a contract that never ends": "5b5f56",
  "a contract that answers a megabyte of nothing": "621000005ff3",
};
for (const [name, code] of Object.entries(refusing)) {
  test(`${name} has not accepted`, async () => {
    await setCode(code);
    assert.equal(await accepts({ address: wallet }), false);
  });
}

test("a wallet that is not deployed yet accepts with the means to deploy it", async () => {
  // Deploys the runtime code that answers with the magic word.
  const size = (MAGIC.length / 2).toString(16).padStart(2, "0");
  const creation: Hex = `0x60${size}600a5f3960${size}5ff3${MAGIC}`;
  const address = getContractAddress({ opcode: "CREATE2", from: FACTORY, salt: zeroHash, bytecode: creation });
  const wrapped = serializeErc6492Signature({ address: FACTORY, data: concatHex([zeroHash, creation]), signature });
  assert.equal(await accepts({ address, signature: wrapped }), true);
  assert.equal(await chain.rpc("eth_getCode", [address, "latest"]), "0x");
  assert.equal(await accepts({ address: wallet, signature: wrapped }), false);
});

test("a plain signature is valid for its signer only", async () => {
  const signer = privateKeyToAccount(generatePrivateKey());
  const signed = await signer.signMessage({ message });
  await setCode("");
  assert.equal(await accepts({ address: signer.address, signature: signed }), true);
  assert.equal(await accepts({ address: wallet, signature: signed }), false);
});

const malformed: Record<string, Hex> = {
  "no bytes": "0x",
  "half a byte": "0x123",
  "a wrapped signature that is none": `0x${"ff".repeat(64)}${"6492".repeat(16)}`,
  "a delegated signature that is none": `0x${"ff".repeat(64)}${"8010".repeat(16)}`,
  "a long one": `0x${"ff".repeat(20_000)}`,
};
for (const [name, bytes] of Object.entries(malformed)) {
  test(`${name}: not a signature`, async () => {
    await setCode("");
    assert.equal(await accepts({ address: wallet, signature: bytes }), false);
  });
}

for (const [name, lie] of Object.entries(NODE_FAILURES)) {
  test(`${name} has not said that the signature is wrong`, async () => {
    await setCode(MAGIC);
    node.lie = lie;
    await assert.rejects(accepts({ address: wallet }), ChainUnavailable);
  });
}
