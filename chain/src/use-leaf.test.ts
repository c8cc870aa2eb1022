import assert from "node:assert/strict";
import { test } from "node:test";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { leafOf, type SettledUse, verifyUse } from "@inference/protocol/use-leaf";
import { SimpleMerkleTree } from "@openzeppelin/merkle-tree";
import {
  createPublicClient,
  createTestClient,
  createWalletClient,
  type Hex,
  http,
  stringToHex,
  zeroAddress,
  zeroHash,
} from "viem";
import { foundry } from "viem/chains";
import { chain } from "./testing/shared-chain.ts";

const ALICE = "0x00000000000000000000000000000000000a11ce";
const DAY = 86_400;

test("the settlement contract and our function verify the same proofs", async () => {
  const contract = { address: chain.settlement, abi: inferenceSettlementAbi } as const;
  const options = { chain: foundry, transport: http(chain.rpcUrl) } as const;
  const reader = createPublicClient(options);
  await chain.activate(ALICE, 1_000_000n);
  const settlement = { chainId: foundry.id, address: chain.settlement };
  const [{ timestamp }, settler] = await Promise.all([
    reader.getBlock(),
    reader.readContract({ ...contract, functionName: "settler" }),
  ]);
  const day = Number(timestamp) / DAY;
  const uses = Array.from(
    { length: 5 },
    (_, index): SettledUse => ({
      batch: 1,
      account: ALICE,
      receipt: `req_${String(index).padStart(26, "0")}`,
      costNanoUsd: 1_000 + index,
      dayServed: Math.floor(day),
      agent: index % 2 === 0 ? undefined : { token: chain.token, offerHash: `0x${"5".repeat(64)}` },
    }),
  );
  const leaves = uses.map((use) => leafOf(settlement, use));
  const tree = SimpleMerkleTree.of(leaves);
  const root = tree.root as Hex;
  const amountNanoUsd = uses.reduce((sum, { costNanoUsd }) => sum + BigInt(costNanoUsd), 0n);
  const debits = [{ account: ALICE, amountNanoUsd }] as const;
  const batch = { id: 1n, day: BigInt(Math.floor(day)), root, debits, serves: [] };
  await createTestClient({ ...options, mode: "anvil" }).impersonateAccount({ address: settler });
  const wallet = createWalletClient({ ...options, account: settler });
  const hash = await wallet.writeContract({ ...contract, functionName: "settle", args: [batch] });
  const receipt = await reader.waitForTransactionReceipt({ hash, pollingInterval: 10 });
  assert.equal(receipt.status, "success");
  assert.equal(await reader.readContract({ ...contract, functionName: "rootOf", args: [1n] }), root);

  const onChain = (use: SettledUse, proof: readonly Hex[]) =>
    reader.readContract({
      ...contract,
      functionName: "verify",
      args: [
        {
          batch: BigInt(use.batch),
          account: use.account,
          receipt: stringToHex(use.receipt, { size: 32 }),
          costNanoUsd: BigInt(use.costNanoUsd),
          server: use.agent?.token ?? zeroAddress,
          dayServed: BigInt(use.dayServed),
          offerHash: use.agent?.offerHash ?? zeroHash,
        },
        proof,
      ],
    });
  for (const [index, use] of uses.entries()) {
    const proof = tree.getProof(leaves[index] ?? "") as Hex[];
    const another = { ...use, costNanoUsd: use.costNanoUsd + 1 };
    assert.deepEqual([await onChain(use, proof), verifyUse(root, settlement, use, proof)], [true, true]);
    assert.deepEqual([await onChain(another, proof), verifyUse(root, settlement, another, proof)], [false, false]);
  }
});
