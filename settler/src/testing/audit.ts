import assert from "node:assert/strict";
import { ceilingPartition, chainPartition, journalDay } from "@inference/ledger/partition";
import { answer } from "@inference/ledger/reads";
import type { MemoryHost } from "@inference/ledger/testing/memory-host";
import { DAY_MS, utcDay } from "@inference/protocol/window";
import type { SimulatedChain } from "./simulated-chain.ts";

/** Holds a settler's books against its simulated chain. Throws what is wrong. */
export type Audit = {
  /** Runs a command, and remembers what became durable. */
  watched<T>(command: () => Promise<T>): Promise<T>;
  /** After any step. */
  look(): void;
  /** Whether all that is to be settled is. */
  isDrained(): boolean;
  /** When all is settled. */
  close(): void;
};

export function createAudit(options: {
  chain: SimulatedChain;
  host: MemoryHost;
  chainId: number;
  /** The account whose uses the contract refuses. */
  broke: string;
}): Audit {
  const { chain, host, chainId, broke } = options;
  const rows = () => host.rows(chainPartition(chainId));
  /** Of every transaction that was ever written down, by its hash. */
  const written = new Map<string, { nonce: number; batch: string }>();
  /** The uses of every batch that was ever built, by root. */
  const built = new Map<string, string[]>();

  function remember(): void {
    for (const { row } of host.all("transaction")) {
      written.set(row.hash, { nonce: row.nonce, batch: row.id.split(".")[0] ?? "" });
    }
    for (const { row } of host.all("batch")) {
      if (row.root === null || built.has(row.root)) continue;
      const uses = host.all("use").filter((use) => use.row.batch === Number(row.id));
      built.set(
        row.root,
        uses.map((use) => use.row.id),
      );
    }
  }

  const settledOn = (blocks: SimulatedChain["blocks"]) =>
    blocks.flatMap((block) =>
      block.transactions.flatMap(({ batch, isSuccess, hash }) =>
        batch !== undefined && isSuccess ? [{ batch, hash, block: block.number }] : [],
      ),
    );

  return {
    async watched(command) {
      try {
        return await command();
      } finally {
        remember();
      }
    },
    look() {
      for (const { hash } of chain.pending.values())
        assert.ok(written.has(hash), `${hash} was sent before it was written`);
      const final = chain.blocks[chain.finalOf(chain.blocks.length - 1)];
      const open = new Set([...written.values()].flatMap(({ nonce }) => (nonce >= (final?.nonce ?? 0) ? nonce : [])));
      assert.ok(open.size <= 1, `transactions under the numbers ${[...open]} can get into a block`);
      for (const { batch, hash } of settledOn(chain.blocks)) {
        const row = answer(rows(), { type: "batch", batch: Number(batch.id) });
        assert.equal(row?.root, batch.root, `the chain's batch ${batch.id} is not in the books`);
        assert.ok(row?.state === "signed" || row?.state === "settled", `batch ${batch.id} on chain is ${row?.state}`);
        assert.ok(written.has(hash), `batch ${batch.id} is settled by ${hash}, which was never written down`);
      }
    },
    isDrained: () =>
      host.all("use").every(({ row }) => row.chargeNanoUsd === 0 || row.batch !== null) &&
      host.all("batch").every(({ row }) => row.state === "settled"),
    close() {
      const uses = host.all("use").map(({ row }) => row);
      const onChain = settledOn(chain.blocks);
      const posted = onChain.flatMap(({ batch }) => built.get(batch.root) ?? []);
      assert.equal(new Set(posted).size, posted.length, "a use was posted twice");
      const owed = uses.filter(({ account, chargeNanoUsd }) => account !== broke && chargeNanoUsd > 0);
      assert.deepEqual(posted.sort(), owed.map(({ id }) => id).sort(), "not every use was posted once");
      for (const { batch, hash, block } of onChain) {
        const row = answer(rows(), { type: "batch", batch: Number(batch.id) });
        assert.deepEqual([row?.state, row?.settledBy, row?.block], ["settled", hash, block], `batch ${batch.id}`);
        const ours = uses.filter((use) => use.batch === Number(batch.id));
        assert.deepEqual(ours.map(({ id }) => id).sort(), [...(built.get(batch.root) ?? [])].sort());
        assert.equal(row?.amountNanoUsd, total(ours.map(({ chargeNanoUsd }) => chargeNanoUsd)));
        for (const { account, amountNanoUsd } of batch.debits) {
          const charges = ours.flatMap((use) => (use.account === account.toLowerCase() ? use.chargeNanoUsd : []));
          assert.equal(amountNanoUsd, BigInt(total(charges)), `batch ${batch.id}, ${account}`);
        }
      }
      assert.equal(host.all("batch").length, onChain.length, "the books have a batch that the chain has not");
      const { state } = chain.blocks.at(-1) ?? assert.fail();
      assert.equal(state.totalDebitedNanoUsd, BigInt(total(owed.map(({ chargeNanoUsd }) => chargeNanoUsd))));
      for (const day of state.paidNanoUsd.keys()) checkCarried(Number(day));
    },
  };

  /** What a day pays for uses of others is counted under its ceiling. */
  function checkCarried(day: number): void {
    const name = utcDay(day * DAY_MS);
    const carried = settledOn(chain.blocks).flatMap(({ batch }) => {
      const row = answer(rows(), { type: "batch", batch: Number(batch.id) });
      return Number(batch.day) === day && journalDay(row?.journal ?? "") !== name ? [row?.amountNanoUsd ?? 0] : [];
    });
    const { settledNanoUsd } = answer(host.rows(ceilingPartition), { type: "ceiling", at: day * DAY_MS });
    assert.ok(settledNanoUsd >= total(carried), `${name}: ${settledNanoUsd} of ${total(carried)} is counted`);
  }
}

function total(amounts: readonly number[]): number {
  return amounts.reduce((sum, amount) => sum + amount, 0);
}
