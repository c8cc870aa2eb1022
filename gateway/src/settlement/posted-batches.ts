import type { BatchView } from "@inference/ledger/batch";
import type { LedgerClient } from "@inference/ledger/client";
import { NOT_POSTED } from "@inference/ledger/journal";
import { journalsOf } from "@inference/ledger/journals";
import { chainPartition, journalPartition, journalUnder, type Partition } from "@inference/ledger/partition";
import { settledUse } from "@inference/ledger/settled-use";
import type { UseRow } from "@inference/ledger/tables";
import type { Address } from "@inference/protocol/credential";
import { leafOf, type Settlement } from "@inference/protocol/use-leaf";
import { useTree } from "@inference/protocol/use-tree";
import { utcDay } from "@inference/protocol/window";
import { makeBoundedMap } from "../limits/bounded-map.ts";

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

/** The uses of a batch. Each proof is kept: it takes 0.3 ms of processor time. */
type Proofs = { uses: readonly UseRow[]; prove(use: UseRow): ProvenUse };

/** Trees that are kept: building one takes 0.1 ms of processor time for each use. */
const KEPT_TREES = 32;

/** @param ceilingOf The ceiling that admits an account's requests now, whose journal has most of its uses. */
export function makePostedBatches(
  settlement: Settlement,
  ledger: LedgerClient,
  ceilingOf: (account: Partition) => Partition,
): PostedBatches {
  const partition = chainPartition(settlement.chainId);
  const trees = makeBoundedMap<string, Promise<Proofs | undefined>>(KEPT_TREES);

  function proofsOf(batch: BatchView & { root: string }): Promise<Proofs | undefined> {
    const known = trees.get(batch.root);
    if (known !== undefined) return known;
    const made = makeProofs(batch);
    trees.set(batch.root, made);
    const forget = () => trees.delete(batch.root);
    made.then((proofs) => proofs ?? forget(), forget);
    return made;
  }

  /** Undefined if the batch has returned its uses since it was read. */
  async function makeProofs({ batch, journal, firstUse, lastUse, root }: BatchView): Promise<Proofs | undefined> {
    const range = { firstUse: firstUse ?? "", lastUse: lastUse ?? "" };
    const uses = await ledger.read(journalPartition(journal), { type: "batchUses", batch, ...range });
    if (uses.length === 0) return undefined;
    const tree = useTree(
      settlement,
      uses.map((use) => settledUse(batch, use)),
    );
    if (tree.root !== root) return undefined;
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
      const proofs = await proofsOf(batch);
      const own = proofs?.uses.find((other) => other.id === id);
      if (proofs === undefined || own === undefined) return { status: "pending", ...nothing };
      const { leaf, proof } = proofs.prove(own);
      return { status: statusOf(batch), batch: batch.batch, transaction: transactionOf(batch), leaf, proof };
    },
    async provenUses(batch, account) {
      if (!isBuilt(batch)) return [];
      const proofs = await proofsOf(batch);
      return proofs?.uses.filter((use) => use.account === account).map(proofs.prove) ?? [];
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

/** A rejected batch is not one any more. */
function isBuilt(batch: BatchView): batch is BatchView & { root: string } {
  return batch.root !== null && batch.state !== "rejected";
}
