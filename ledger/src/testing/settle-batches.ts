import { batchesBefore } from "../batch.ts";
import type { BatchName } from "../commands.ts";
import { chainPartition, journalPartition } from "../partition.ts";
import type { World } from "./world.ts";

/** As a settler does it, one or two commands at a time, stopped anywhere: every choice is by chance. */
export function settleBatches({ apply, clock, host }: World) {
  const partition = chainPartition(1);
  let lastOpened = 0;
  let signed = 0;

  async function step({ which, stops }: { which: number; stops: boolean }): Promise<void> {
    const [last] = batchesBefore(host.rows(partition), null, { limit: 1 });
    if (last === undefined || last.state === "settled") {
      const journals = [...new Set(host.all("use").map((use) => use.partition))];
      const journal = journals[which % Math.max(1, journals.length)];
      if (journal === undefined) return;
      if (which % 17 === 0) {
        await apply(journal, { type: "setAsideUses", until: clock.now - (which % 3) * 60_000, limit: 1 + (which % 3) });
        return;
      }
      lastOpened = Math.max(clock.now, lastOpened + 1);
      const name = { batch: (last?.batch ?? 0) + 1, openedAt: lastOpened };
      await apply(partition, { type: "openBatch", journal: journal.slice("journal:".length), ...name });
      return;
    }
    const name: BatchName = { batch: last.batch, openedAt: last.openedAt };
    const journal = journalPartition(last.journal);
    if (last.state === "open") {
      const limits = { maxUses: 1 + (which % 5), maxEntries: 1 + (which % 3), maxServes: which % 2 };
      const reply = await apply(journal, { type: "gatherUses", ...name, ...limits });
      if (stops) return;
      const uses = reply.status === "gathered" ? reply.uses : [];
      const [first, final] = [uses[0], uses.at(-1)];
      if (first === undefined || final === undefined) {
        await apply(partition, { type: "rejectBatch", ...name, transactions: 0 });
        return;
      }
      await apply(partition, {
        ...{ type: "buildBatch", root: uses.map(({ id }) => id).join(), uses: uses.length, ...name },
        ...{ amountNanoUsd: uses.reduce((sum, { chargeNanoUsd }) => sum + chargeNanoUsd, 0) },
        ...{ firstUse: first.id, lastUse: final.id },
      });
    } else if (last.state === "rejected") {
      const id = host.all("use")[which % 7]?.row.id;
      const setAside = which % 4 === 0 && id !== undefined ? { ids: [id], reason: "credit" } : null;
      await apply(journal, { type: "returnUses", ...name, setAside });
      if (!stops) await apply(partition, { type: "dropBatch", ...name });
    } else if (which % 5 === 0) {
      // Sometimes by one that does not know of the last.
      const transactions = Math.max(0, last.signed.length - (which % 2));
      await apply(partition, { type: "rejectBatch", ...name, transactions });
    } else if ((last.state === "built" && which % 5 !== 2) || which % 5 === 1) {
      signed += 1;
      const terms = { nonce: last.signed[0]?.nonce ?? signed, maxFeePerGasWei: "1", day: last.journal };
      await apply(partition, {
        ...{ type: "signBatch", ...name, hash: `hash ${signed}`, raw: "0x", signedAt: clock.now, ...terms },
      });
    } else {
      const settledBy = last.signed[which % last.signed.length]?.hash ?? "of an older copy";
      await apply(partition, { type: "settleBatch", ...name, at: clock.now, settledBy, block: which });
    }
  }

  return { step };
}
