import type { Command, Reply } from "@inference/ledger/commands";
import type { Partition } from "@inference/ledger/partition";
import type { OutboxRow } from "@inference/ledger/tables";
import { log } from "./log.ts";
import type { OwnRows } from "./own-rows.ts";

/** A command's reply, or why there is none. */
export type Outcome = Reply | { failed: string };

type Options = {
  rows: Pick<OwnRows, "outbox">;
  /** To another partition, in one call; throws if that could not be made. */
  send(target: Partition, commands: readonly Command[]): Promise<readonly Outcome[]>;
  acknowledge(entries: readonly Entry[]): Promise<unknown>;
};
type Entry = { partition: Partition; row: OutboxRow };

/**
 * Makes the deliveries that are written down, those for one target in one call, and resolves when each was made or has
 * failed. One pass at a time: what is written meanwhile is taken along, so that the busier an object is, the fewer
 * calls it makes.
 */
export function makeDeliveries({ rows, send, acknowledge }: Options): () => Promise<void> {
  let passing: Promise<void> | undefined;
  /** Something was written since the pass began at its beginning. */
  let isMore = false;

  async function pass(): Promise<void> {
    const until = Date.now() + PASS_MS;
    const failed = new Set<string>();
    do {
      isMore = false;
      let page = rows.outbox("", AT_ONCE);
      for (let last = page.at(-1); last !== undefined; last = page.at(-1)) {
        await deliverPage(
          page.filter(({ row }) => !failed.has(row.id)),
          failed,
        );
        page = rows.outbox(last.row.id, AT_ONCE);
      }
    } while (isMore && Date.now() < until);
  }

  async function deliverPage(page: readonly Entry[], failed: Set<string>): Promise<void> {
    const made: Entry[] = [];
    const targets = Map.groupBy(page, ({ row }) => row.target);
    await Promise.all(
      [...targets].map(async ([target, entries]) => {
        const outcomes = await sendAll(target, entries);
        for (const [index, entry] of entries.entries()) {
          const outcome = outcomes[index] ?? { failed: "no reply" };
          if (isMade(outcome)) made.push(entry);
          else failed.add(entry.row.id);
          if ("failed" in outcome) log("warn", "delivery_failed", { id: entry.row.id, error: outcome.failed });
        }
      }),
    );
    if (made.length > 0) await acknowledge(made);
  }

  async function sendAll(target: Partition, entries: readonly Entry[]): Promise<readonly Outcome[]> {
    try {
      const commands = entries.map(({ row }) => JSON.parse(row.command) as Command);
      return await send(target, commands);
    } catch (error) {
      return entries.map(() => ({ failed: String(error) }));
    }
  }

  return () => {
    isMore = true;
    passing ??= pass().finally(() => {
      passing = undefined;
    });
    return passing;
  };
}

/** What does not fit in now may fit in later. */
function isMade(outcome: Outcome): boolean {
  return !("failed" in outcome) && !("status" in outcome && outcome.status === "too_much");
}

/** An alarm may run for 15 minutes: a pass ends before, and what is left is the next one's. */
const PASS_MS = 60_000;
const AT_ONCE = 64;
