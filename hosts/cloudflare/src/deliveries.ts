import type { Command, Reply } from "@inference/ledger/commands";
import { isAcknowledged } from "@inference/ledger/delivery";
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
  acknowledge(ids: readonly string[]): void;
};

/**
 * Makes the deliveries that are written down, those for one target in one call, and resolves when each was made or has
 * failed. One pass at a time: what is written meanwhile is taken along, so that the busier an object is, the fewer
 * calls it makes. A target that cannot be reached is left alone for a moment, and so are all where a pass ends with it.
 */
export function makeDeliveries({ rows, send, acknowledge }: Options): () => Promise<void> {
  let passing: Promise<void> | undefined;
  /** Something was written since the pass read what there is. */
  let isMore = false;
  let restsUntil = 0;

  async function pass(): Promise<void> {
    const until = Date.now() + PASS_MS;
    const failed = new Set<string>();
    const unreached = new Set<Partition>();
    do {
      isMore = false;
      if (Date.now() >= restsUntil) unreached.clear();
      const left = rows.outbox().filter(({ id, target }) => !failed.has(id) && !unreached.has(target));
      for (let from = 0; from < left.length && Date.now() < until; from += AT_ONCE) {
        const page = left.slice(from, from + AT_ONCE).filter(({ target }) => !unreached.has(target));
        await deliverPage(page, failed, unreached);
      }
    } while (isMore && Date.now() < until);
  }

  async function deliverPage(
    page: readonly OutboxRow[],
    failed: Set<string>,
    unreached: Set<Partition>,
  ): Promise<void> {
    const made: string[] = [];
    const targets = Map.groupBy(page, ({ target }) => target);
    await Promise.all(
      [...targets].map(async ([target, entries]) => {
        const outcomes = await sendAll(target, entries);
        if (outcomes === undefined) {
          unreached.add(target);
          restsUntil = Date.now() + REST_MS;
          return;
        }
        for (const [index, { id }] of entries.entries()) {
          const outcome = outcomes[index] ?? { failed: "no reply" };
          if ("failed" in outcome) log("warn", "delivery_failed", { id, error: outcome.failed });
          if ("failed" in outcome || !isAcknowledged(outcome)) failed.add(id);
          else made.push(id);
        }
      }),
    );
    if (made.length > 0) acknowledge(made);
  }

  /** Undefined if the call could not be made. */
  async function sendAll(target: Partition, entries: readonly OutboxRow[]): Promise<readonly Outcome[] | undefined> {
    try {
      const commands = entries.map(({ command }) => JSON.parse(command) as Command);
      return await send(target, commands);
    } catch (error) {
      log("warn", "target_unreached", { target, deliveries: entries.length, error: String(error) });
      return undefined;
    }
  }

  return () => {
    if (passing === undefined && Date.now() < restsUntil) return Promise.resolve();
    isMore = true;
    passing ??= pass().finally(() => {
      passing = undefined;
    });
    return passing;
  };
}

/** An alarm may run for 15 minutes: a pass ends before, and what is left is the next one's. */
const PASS_MS = 60_000;
/** Shorter than the time after which the object's alarm tries again. */
const REST_MS = 1_000;
const AT_ONCE = 64;
