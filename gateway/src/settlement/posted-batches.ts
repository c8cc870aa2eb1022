import type { BatchView } from "@inference/ledger/batch";
import type { LedgerClient } from "@inference/ledger/client";
import { NOT_POSTED } from "@inference/ledger/journal";
import { journalsOf } from "@inference/ledger/journals";
import { chainPartition, journalPartition, journalUnder, type Partition } from "@inference/ledger/partition";
import { settledUse } from "@inference/ledger/settled-use";
import type { UseRow } from "@inference/ledger/tables";
import type { Address } from "@inference/protocol/credential";
import { leafOf, type Settlement } from "@inference/protocol/use-leaf";
import { type UseTree, useTreeInPieces } from "@inference/protocol/use-tree";
import { utcDay } from "@inference/protocol/window";
import { makeBoundedMap } from "../limits/bounded-map.ts";
import { makeSemaphore } from "../limits/semaphore.ts";
import type { SlicedWork } from "../limits/sliced-work.ts";

/** The batches in which uses are settled on chain, as anyone sees them, and the proofs of the uses in them. */
export type PostedBatches = {
  /** Those that were built, the newest first. `next`: where the next page begins; null: there is none. */
  list(before: number | null, limit: number): Promise<{ batches: BatchView[]; next: number | null }>;
  find(batch: number): Promise<BatchView | null>;
  /** What became of a charge to an account's balance. */
  ofReceipt(account: Partition, receipt: { id: string; admittedAt: number }): Promise<ReceiptSettlement>;
  /** The uses of an account in a batch that was built, with their proofs. */
  provenUses(batch: BatchView, account: Address): Promise<ProvenUse[]>;
};

export type ReceiptSettlement = {
  status: BatchStatus | "refused";
  batch: number | null;
  transaction: string | null;
  leaf: string | null;
  proof: string[] | null;
};
export type BatchStatus = "pending" | "posted" | "final";
export type ProvenUse = { use: UseRow; leaf: string; proof: string[] };

type BuiltBatch = BatchView & { root: string };

/** The uses of a batch. Each proof is kept: it takes 0.3 ms of processor time. */
type Proofs = { uses: readonly UseRow[]; prove(use: UseRow): ProvenUse };

/** Trees that are kept: building one takes 0.1 ms of processor time for each use. */
const KEPT_TREES = 32;

/** Readings of batches whose tree is not kept. An account has few at once, so that it keeps nobody out. */
const UNKEPT_READS = { atOnce: 256, each: 4 };

/** @param ceilingOf The ceiling that admits an account's requests now, whose journal has most of its uses. */
export function makePostedBatches(
  settlement: Settlement,
  { ledger, slicedWork }: { ledger: LedgerClient; slicedWork: SlicedWork },
  ceilingOf: (account: Partition) => Partition,
): PostedBatches {
  const partition = chainPartition(settlement.chainId);
  const trees = makeBoundedMap<string, Proofs>(KEPT_TREES);
  /** Trees that are being built, by root. */
  const building = new Map<string, Promise<Proofs | undefined>>();
  const unkeptReads = makeSemaphore(UNKEPT_READS, "readings of batches");

  /**
   * The proofs of a batch, if it has a use of this account: no tree is built for any other. Undefined if it has none,
   * or has returned its uses since it was read. Throws 503 `overloaded` if the account reads too many batches at once.
   */
  async function proofsFor(account: Address, batch: BuiltBatch): Promise<Proofs | undefined> {
    const known = trees.get(batch.root) ?? building.get(batch.root);
    if (known !== undefined) return known;
    return unkeptReads(async () => {
      const { journal, firstUse, lastUse, root } = batch;
      const range = { firstUse: firstUse ?? "", lastUse: lastUse ?? "" };
      const query = { type: "batchUses", batch: batch.batch, ...range } as const;
      const uses = await ledger.read(journalPartition(journal), query);
      if (!uses.some((use) => use.account === account)) return undefined;
      return trees.get(root) ?? building.get(root) ?? build(account, batch, uses);
    }, account);
  }

  function build(account: Address, { batch, root }: BuiltBatch, uses: readonly UseRow[]): Promise<Proofs | undefined> {
    const work = useTreeInPieces(
      settlement,
      uses.map((use) => settledUse(batch, use)),
    );
    const made = slicedWork
      .run(account, work)
      .then((tree) => {
        if (tree.root !== root) return undefined;
        const proofs = proofsIn(tree, batch, uses);
        trees.set(root, proofs);
        return proofs;
      })
      .finally(() => building.delete(root));
    building.set(root, made);
    return made;
  }

  function proofsIn(tree: UseTree, batch: number, uses: readonly UseRow[]): Proofs {
    const proven = new Map<string, ProvenUse>();
    return {
      uses,
      prove(use) {
        const known = proven.get(use.id);
        if (known !== undefined) return known;
        const settled = settledUse(batch, use);
        const made = { use, leaf: leafOf(settlement, settled), proof: tree.proofOf(settled) };
        proven.set(use.id, made);
        return made;
      },
    };
  }

  /** Where it is expected, else in all journals of its day: the number of shards may have been another one then. */
  async function findUse(account: Partition, { id, day }: { id: string; day: string }): Promise<UseRow | null> {
    const expected = journalUnder(ceilingOf(account), day);
    const read = (journal: string) => ledger.read(journalPartition(journal), { type: "use", id });
    const found = await read(expected);
    if (found !== null) return found;
    const others = (await journalsOf(ledger, day)).filter((journal) => journal !== expected);
    return (await Promise.all(others.map(read))).find((use) => use !== null) ?? null;
  }

  return {
    list: async (before, limit) => {
      const query = { type: "batches", limit, withoutRaw: true, ...(before === null ? {} : { before }) } as const;
      const batches = await ledger.read(partition, query);
      const last = batches.length < limit ? 1 : (batches.at(-1)?.batch ?? 1);
      return { batches: batches.filter(isBuilt), next: last === 1 ? null : last };
    },
    async find(batch) {
      const found = await ledger.read(partition, { type: "batch", batch });
      return found !== null && isBuilt(found) ? found : null;
    },
    async ofReceipt(account, { id, admittedAt }) {
      const nothing = { batch: null, transaction: null, leaf: null, proof: null };
      const use = await findUse(account, { id, day: utcDay(admittedAt) });
      if (use === null || use.batch === null) return { status: "pending", ...nothing };
      if (use.batch === NOT_POSTED) return { status: "refused", ...nothing };
      const batch = await ledger.read(partition, { type: "batch", batch: use.batch });
      if (batch === null || !isBuilt(batch)) return { status: "pending", ...nothing };
      const proofs = await proofsFor(use.account as Address, batch);
      const own = proofs?.uses.find((other) => other.id === id);
      if (proofs === undefined || own === undefined) return { status: "pending", ...nothing };
      const { leaf, proof } = proofs.prove(own);
      return { status: statusOf(batch), batch: batch.batch, transaction: transactionOf(batch), leaf, proof };
    },
    async provenUses(batch, account) {
      if (!isBuilt(batch)) return [];
      const proofs = await proofsFor(account, batch);
      const own = proofs?.uses.filter((use) => use.account === account) ?? [];
      return proofs === undefined ? [] : slicedWork.run(account, provenIn(own, proofs));
    },
  };
}

export function statusOf({ state }: BatchView): BatchStatus {
  if (state === "settled") return "final";
  return state === "signed" ? "posted" : "pending";
}

/** The one that settled it, or the last that was signed for it. */
export function transactionOf({ settledBy, signed }: BatchView): string | null {
  return settledBy ?? signed[0]?.hash ?? null;
}

function* provenIn(uses: readonly UseRow[], { prove }: Proofs): Generator<void, ProvenUse[]> {
  const proven: ProvenUse[] = [];
  for (const use of uses) {
    proven.push(prove(use));
    yield;
  }
  return proven;
}

/** A rejected batch is not one any more. */
function isBuilt(batch: BatchView): batch is BuiltBatch {
  return batch.root !== null && batch.state !== "rejected";
}
