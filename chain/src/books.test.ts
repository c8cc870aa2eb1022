import assert from "node:assert/strict";
import { test } from "node:test";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { readBooks } from "./books.ts";
import { beginAnew, chain } from "./testing/shared-chain.ts";
import { alice, clientOf, readerOf } from "./testing/watch.ts";

beginAnew();

/** The books as the real contracts tell them. */
const DOLLAR = 1_000_000_000n;

test("activations move amounts from supply to credit, and the backing is the sum", async () => {
  const client = clientOf(chain.rpcUrl);
  const first = await readBooks(client, chain.settlement);
  assert.equal(first.backingNanoUsd, 40_000_000n * DOLLAR);
  assert.equal(first.supplyNanoUsd, first.backingNanoUsd);
  await chain.activate(alice, 7_000_001n);
  const { block, at, ...sums } = await readBooks(client, chain.settlement);
  assert.deepEqual(sums, {
    backingNanoUsd: first.backingNanoUsd,
    supplyNanoUsd: first.backingNanoUsd - 7_000_001_000n,
    creditNanoUsd: 7_000_001_000n,
    owedNanoUsd: 0n,
    linesNanoUsd: 0n,
  });
  assert.equal(block, await chain.latest());
  assert.ok(at > first.at - 1 && at % 1_000 === 0);
});

test("a contract that tells no books, or none at all, is no answer", async () => {
  const strange: Address = "0x0000000000000000000000000000000000c0de07";
  for (const code of ["", "5f5ffd", "60805ff3", "5b5f56"]) {
    await chain.rpc("anvil_setCode", [strange, `0x${code}`]);
    await assert.rejects(readBooks(clientOf(chain.rpcUrl), strange), ChainUnavailable, code);
  }
});

test("the reader has them of its settlement contract", async () => {
  const books = await readerOf(chain.rpcUrl, chain.settlement).books();
  assert.equal(books?.backingNanoUsd, 40_000_000n * DOLLAR);
});
