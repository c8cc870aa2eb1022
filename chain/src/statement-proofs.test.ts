import assert from "node:assert/strict";
import { before, test } from "node:test";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { decodeChunk, recordLeaf, type SettleRecord } from "@inference/protocol/chunk";
import type { Address } from "@inference/protocol/credential";
import { merkleRootOf, merkleTree, pureKeccak, verifyProof } from "@inference/protocol/merkle-tree";
import { chargedOf, makeLeafOf, type SettledUse } from "@inference/protocol/use-leaf";
import {
  bytesToHex,
  createPublicClient,
  type Hex,
  hexToBytes,
  http,
  parseEventLogs,
  stringToHex,
  zeroAddress,
  zeroHash,
} from "viem";
import { foundry } from "viem/chains";
import { chain } from "./testing/shared-chain.ts";
import { alice, bob } from "./testing/watch.ts";

before(() => chain.reset());

const BEFORE = 1_500;

/** Alice's uses, from 0. The statement begins within the second one. */
const uses = Array.from({ length: 5 }, (_, index): SettledUse => {
  return {
    receipt: `req_${String(index).padStart(26, "0")}`,
    endsAtNanoUsd: (index + 1) * 1_000,
    costNanoUsd: 1_000,
    dayServed: 20_000,
    agent: index % 2 === 0 ? undefined : { token: bob, offerHash: `0x${"5".repeat(64)}` },
    snapshot: "0123456789abcdef".repeat(2),
  };
});

test("the settlement contract and our functions make the same leaves and roots, and verify the same proofs", async () => {
  const contract = { address: chain.settlement, abi: inferenceSettlementAbi } as const;
  const reader = createPublicClient({ chain: foundry, transport: http(chain.rpcUrl) });
  await chain.activate(alice, 4n);
  await chain.activate(bob, 1n);
  await chain.settle([{ account: alice, before: 0, amount: BEFORE }]);
  const leafOf = makeLeafOf({ chainId: foundry.id, address: chain.settlement }, alice);
  const stated = uses.slice(1);
  const leaves = stated.map((use) => leafOf(use, BEFORE));
  const root = bytesToHex(merkleRootOf(leaves, pureKeccak));
  // Alice's credit of 4,000 pays the statement up to the fourth use.
  await chain.settle([
    { account: bob, before: 0, amount: 7 },
    { account: alice, before: BEFORE, amount: 3_500, root },
  ]);

  const logs = await reader.getLogs({ address: chain.settlement, fromBlock: 0n });
  const chunk = parseEventLogs({ abi: inferenceSettlementAbi, eventName: "Settled", logs }).at(-1);
  assert.ok(chunk !== undefined);
  const records = decodeChunk(hexToBytes(chunk.args.data));
  const [, record] = records;
  assert.ok(record !== undefined);
  assert.deepEqual([record.beforeNanoUsd, record.amountNanoUsd], [BEFORE, 2_500]);
  const tree = merkleTree(
    records.map((one) => recordLeaf(one)),
    pureKeccak,
  );
  assert.equal(tree.root && bytesToHex(tree.root), chunk.args.root);
  const stored = { ...contract, functionName: "blockOf", args: [chunk.args.root] } as const;
  assert.equal(await reader.readContract(stored), chunk.blockNumber);

  const recordProof = tree.proofOf(1);
  const verified = (use: SettledUse, proof: readonly Uint8Array[], one: SettleRecord = record) =>
    reader.readContract({
      ...{ ...contract, functionName: "verify" },
      args: [
        onChain(use),
        proof.map((node) => bytesToHex(node)),
        inContract(one),
        recordProof.map((node) => bytesToHex(node)),
      ],
    });
  for (const [index, use] of stated.entries()) {
    const [leaf, proof] = [leaves[index] ?? new Uint8Array(), merkleTree(leaves, pureKeccak).proofOf(index)];
    const hash = await reader.readContract({ ...contract, functionName: "leafOf", args: [onChain(use)] });
    assert.equal(hash, bytesToHex(leaf));
    assert.ok(verifyProof(hexToBytes(root), leaf, proof));
    // The last use is in the statement, and no record has paid it.
    assert.equal(await verified(use, proof), index < 3, `use ${index}`);
    assert.equal(await verified({ ...use, costNanoUsd: use.costNanoUsd + 1 }, proof), false);
    assert.equal(await verified(use, proof, { ...record, amountNanoUsd: 2_501 }), false);
  }
});

function onChain(use: SettledUse) {
  return {
    account: alice as Address,
    receipt: stringToHex(use.receipt, { size: 32 }),
    endsAtNanoUsd: BigInt(use.endsAtNanoUsd),
    costNanoUsd: BigInt(use.costNanoUsd),
    chargedNanoUsd: BigInt(chargedOf(use, BEFORE)),
    dayServed: BigInt(use.dayServed),
    server: use.agent?.token ?? zeroAddress,
    offerHash: use.agent?.offerHash ?? zeroHash,
    snapshot: `0x${use.snapshot.padEnd(64, "0")}` as Hex,
  };
}

function inContract({ parts, ...record }: SettleRecord) {
  return {
    account: record.account,
    beforeNanoUsd: BigInt(record.beforeNanoUsd),
    amountNanoUsd: BigInt(record.amountNanoUsd),
    root: record.root,
    parts: parts.map(({ agent, day, amountNanoUsd }) => ({ agent, day, amountNanoUsd: BigInt(amountNanoUsd) })),
  };
}
