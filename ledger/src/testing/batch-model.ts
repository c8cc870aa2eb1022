import type { BatchName, Command, Commands } from "../commands.ts";
import type { Partition } from "../partition.ts";
import type { UseRow } from "../tables.ts";

/** What the ledger should answer of batches, from the rules: uses in a list, each with the batch that it is in. */
type CommandOf<T extends keyof Commands> = Commands[T]["command"];
type Use = { journal: Partition; row: UseRow };
type Batch = BatchName & { state: string; root: string | null; signed: CommandOf<"signBatch">[]; settledBy: string };

export function makeBatchModel() {
  const uses: Use[] = [];
  const batches = new Map<number, Batch>();
  /** By journal: the batch that last had its uses, and whether it has them. */
  const gathered = new Map<Partition, BatchName & { has: boolean }>();

  const conflict = { status: "conflict" };
  const named = ({ batch, openedAt }: BatchName): Batch | undefined => {
    const found = batches.get(batch);
    return found?.openedAt === openedAt ? found : undefined;
  };
  const rowsOf = (journal: Partition): UseRow[] =>
    uses.flatMap((use) => (use.journal === journal ? use.row : [])).sort((a, b) => (a.id < b.id ? -1 : 1));
  const usesOf = (journal: Partition, batch: number): UseRow[] => rowsOf(journal).filter((use) => use.batch === batch);

  function gather(journal: Partition, command: CommandOf<"gatherUses">): unknown {
    const { batch, openedAt, maxUses, maxEntries, maxServes } = command;
    const last = gathered.get(journal);
    const isSame = last?.openedAt === openedAt && last.has && last.batch === batch;
    if (!isSame && last !== undefined && last.openedAt >= openedAt) return { status: "late", openedAt: last.openedAt };
    if (!isSame) {
      const read = rowsOf(journal)
        .filter((use) => use.batch === null && use.chargeNanoUsd > 0)
        .slice(0, maxUses);
      const keyOf = ({ account, server, offer }: UseRow) => (offer === null ? [account] : [account, server]).join(" ");
      const entries: string[] = [];
      for (const use of read) {
        const serves = entries.filter((entry) => entry.includes(" ")).length;
        const hasRoom = entries.length < maxEntries && (use.offer === null || serves < maxServes);
        if (hasRoom && !entries.includes(keyOf(use))) entries.push(keyOf(use));
      }
      for (const use of read) if (entries.includes(keyOf(use))) use.batch = batch;
      gathered.set(journal, { batch, openedAt, has: true });
    }
    return { status: "gathered", uses: usesOf(journal, batch).map((use) => ({ ...use })) };
  }

  function takeBack(journal: Partition, { batch, openedAt, setAside }: CommandOf<"returnUses">): unknown {
    const last = gathered.get(journal);
    if (last === undefined || last.openedAt <= openedAt) {
      const has = last?.openedAt === openedAt && last.has && last.batch === batch;
      for (const use of has ? usesOf(journal, batch) : []) {
        const isRefused = setAside?.ids.includes(use.id) === true;
        Object.assign(use, { batch: isRefused ? 0 : null, setAside: isRefused ? setAside.reason : null });
      }
      gathered.set(journal, { batch, openedAt, has: false });
    }
    return { status: "returned" };
  }

  function open({ batch, openedAt }: CommandOf<"openBatch">): unknown {
    const existing = batches.get(batch);
    if (existing !== undefined) return existing.openedAt === openedAt ? { status: "open" } : conflict;
    if (batch !== 1 && batches.get(batch - 1)?.state !== "settled") return conflict;
    batches.set(batch, { batch, openedAt, state: "open", root: null, signed: [], settledBy: "" });
    return { status: "open" };
  }

  function sign(command: CommandOf<"signBatch">): unknown {
    const found = named(command);
    if (found === undefined || found.root === null || found.state === "rejected") return conflict;
    if (found.signed.some(({ hash }) => hash === command.hash)) return { status: "signed" };
    if (found.state === "settled" || found.signed.some(({ nonce }) => nonce !== command.nonce)) return conflict;
    found.signed.push(command);
    found.state = "signed";
    return { status: "signed" };
  }

  function setAsideUntil(journal: Partition, { until, limit }: CommandOf<"setAsideUses">): unknown {
    const read = rowsOf(journal)
      .filter((use) => use.batch === null && use.chargeNanoUsd > 0 && use.admittedAt <= until)
      .slice(0, limit);
    for (const use of read) Object.assign(use, { batch: 0, setAside: "rebuilt" });
    return { uses: read.length };
  }

  /** Undefined: a command of something else. */
  function apply(partition: Partition, command: Command): unknown {
    switch (command.type) {
      case "gatherUses":
        return gather(partition, command);
      case "returnUses":
        return takeBack(partition, command);
      case "setAsideUses":
        return setAsideUntil(partition, command);
      case "openBatch":
        return open(command);
      case "buildBatch": {
        const found = named(command);
        if (found === undefined || found.state === "rejected") return conflict;
        if (found.state !== "open") return found.root === command.root ? { status: "built" } : conflict;
        Object.assign(found, { state: "built", root: command.root });
        return { status: "built" };
      }
      case "signBatch":
        return sign(command);
      case "settleBatch": {
        const found = named(command);
        if (found?.state === "settled") return found.settledBy === command.settledBy ? { status: "settled" } : conflict;
        if (found?.state !== "signed" && found?.state !== "built") return conflict;
        Object.assign(found, { state: "settled", settledBy: command.settledBy });
        return { status: "settled" };
      }
      case "rejectBatch": {
        const found = named(command);
        if (found === undefined || found.state === "settled") return conflict;
        if (found.state !== "rejected" && found.signed.length > command.transactions) return conflict;
        found.state = "rejected";
        return { status: "rejected" };
      }
      case "dropBatch": {
        const found = named(command);
        if (found === undefined) return { status: "dropped" };
        if (found.state !== "rejected") return conflict;
        batches.delete(found.batch);
        return { status: "dropped" };
      }
      default:
        return undefined;
    }
  }

  return {
    apply,
    journalled(journal: Partition, { type, ...use }: CommandOf<"journal">): void {
      uses.push({ journal, row: { offer: null, ...use, batch: null, setAside: null } });
    },
  };
}
