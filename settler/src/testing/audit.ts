import assert from "node:assert/strict";
import { accountPartition, chainPartition } from "@inference/ledger/partition";
import { answer } from "@inference/ledger/reads";
import type { MemoryHost } from "@inference/ledger/testing/memory-host";
import type { Address } from "@inference/protocol/credential";
import { chargedOf, type SettledUse } from "@inference/protocol/use-leaf";
import type { Hex } from "viem";
import type { MakeStatementTree } from "../statement-tree.ts";
import type { SimulatedBlock, SimulatedChain } from "./simulated-chain.ts";
import { totalsOf } from "./simulated-settlement.ts";

/** Compares a ledger with its simulated chain. Throws at a difference. */
export type Audit = {
  /** A request was settled. */
  used(account: Address, id: string, costNanoUsd: number): void;
  /** The trees of a host, whose leaves are remembered by the root. */
  watchTrees(make: MakeStatementTree): MakeStatementTree;
  /** Runs a command, and remembers the transactions that became durable. */
  watched<T>(command: () => Promise<T>): Promise<T>;
  /** After any step. */
  look(): void;
  /** Whether every account is settled, as far as its credit goes. */
  isDrained(): boolean;
  /** When all is settled. `isLossy`: accounts were restored, or debited elsewhere. */
  close(options: { isLossy: boolean }): void;
};

type Leaves = { beforeNanoUsd: number; uses: SettledUse[] };

export function createAudit(options: {
  chain: SimulatedChain;
  host: MemoryHost;
  chainId: number;
  accounts: readonly Address[];
}): Audit {
  const { chain, host, accounts } = options;
  const partition = chainPartition(options.chainId);
  /** The hashes of all transactions ever stored. */
  const stored = new Set<string>();
  const costs = new Map<Address, Map<string, number>>(accounts.map((account) => [account, new Map()]));
  const leaves = new Map<Hex, Leaves>();

  const billOf = (account: Address) => answer(host.rows(accountPartition(account)), { type: "bill" });
  const totalsAt = ({ state }: SimulatedBlock, account: Address) => totalsOf(state, account);
  const latest = (): SimulatedBlock => chain.blocks.at(-1) ?? assert.fail();

  /** The charge of each use of an account by the leaves of the booked records, and the debits of other records. */
  function chargesOf(account: Address): { byUse: Map<string, number>; foreignNanoUsd: number } {
    const byUse = new Map<string, number>();
    let foreignNanoUsd = 0;
    for (const { root, beforeNanoUsd, amountNanoUsd } of latest().state.booked.get(account) ?? []) {
      const own = leaves.get(root);
      if (own === undefined) foreignNanoUsd += amountNanoUsd;
      for (const use of own?.uses ?? []) {
        const from = use.endsAtNanoUsd - chargedOf(use, own?.beforeNanoUsd ?? 0);
        const part = Math.min(use.endsAtNanoUsd, beforeNanoUsd + amountNanoUsd) - Math.max(from, beforeNanoUsd);
        if (part > 0) byUse.set(use.receipt, (byUse.get(use.receipt) ?? 0) + part);
      }
    }
    return { byUse, foreignNanoUsd };
  }

  function lookAtCharges(account: Address): void {
    const { byUse } = chargesOf(account);
    for (const [id, amount] of byUse) {
      const cost = costs.get(account)?.get(id) ?? 0;
      assert.ok(amount <= cost, `${id} of ${account} is charged with ${amount} of ${cost}`);
    }
  }

  return {
    used: (account, id, cost) => void (cost > 0 && costs.get(account)?.set(id, cost)),
    watchTrees: (make) => (account, beforeNanoUsd) => {
      const tree = make(account, beforeNanoUsd);
      const uses: SettledUse[] = [];
      return {
        add(added) {
          uses.push(...added);
          tree.add(added);
        },
        root() {
          const root = tree.root();
          leaves.set(root, { beforeNanoUsd, uses });
          return root;
        },
      };
    },
    async watched(command) {
      try {
        return await command();
      } finally {
        for (const { row } of host.all("transaction")) stored.add(row.hash);
      }
    },
    look() {
      for (const { hash } of chain.pending.values())
        assert.ok(stored.has(hash), `${hash} was sent before it was stored`);
      for (const account of accounts) lookAtCharges(account);
    },
    isDrained: () =>
      host.all("transaction").length === 0 &&
      accounts.every((account) => {
        const { activatedNanoUsd, settledNanoUsd, debitedNanoUsd } = billOf(account);
        const totals = totalsAt(latest(), account);
        const hasHeard =
          activatedNanoUsd === Number(totals.activatedNanoUsd) && debitedNanoUsd === Number(totals.debitedNanoUsd);
        return hasHeard && debitedNanoUsd === Math.min(settledNanoUsd, activatedNanoUsd);
      }),
    close({ isLossy }) {
      for (const account of accounts) {
        const bill = billOf(account);
        const { activatedNanoUsd, debitedNanoUsd } = totalsAt(latest(), account);
        assert.deepEqual(
          [bill.activatedNanoUsd, bill.debitedNanoUsd],
          [Number(activatedNanoUsd), Number(debitedNanoUsd)],
        );
        const { byUse, foreignNanoUsd } = chargesOf(account);
        const used = [...(costs.get(account)?.values() ?? [])].reduce((sum, cost) => sum + cost, 0);
        assert.ok(Number(debitedNanoUsd) <= used + foreignNanoUsd, `${account} is debited for nothing`);
        if (isLossy) continue;
        assert.deepEqual(
          sorted(byUse),
          sorted(costs.get(account) ?? new Map()),
          `not every use of ${account} is charged once`,
        );
        assert.equal(bill.takenOverNanoUsd, 0, `${account} took something over`);
      }
      const { totalDebitedNanoUsd } = latest().state;
      const cursor = answer(host.rows(partition), { type: "cursor" });
      assert.equal(cursor?.totalDebitedNanoUsd, String(totalDebitedNanoUsd));
      assert.deepEqual(host.all("transaction"), [], "a transaction is not final");
    },
  };
}

function sorted(amounts: ReadonlyMap<string, number>): [string, number][] {
  return [...amounts].sort(([one], [other]) => (one < other ? -1 : 1));
}
