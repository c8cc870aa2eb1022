import type { Command, Reply } from "@inference/ledger/commands";
import type { Partition } from "@inference/ledger/partition";
import type { OutboxRow } from "@inference/ledger/tables";
import { log } from "./log.ts";
import type { OwnRows } from "./own-rows.ts";

/** A command's reply, or why there is none. */
export type Outcome = Reply | { failed: string };

type Options = {
  rows: Pick<OwnRows, "outbox">;
  /** Sends commands to another partition in one call. Throws if the call failed. */
  send(target: Partition, commands: readonly Command[]): Promise<readonly Outcome[]>;
  acknowledge(ids: readonly string[]): void;
};

/**
 * Makes the deliveries of the outbox, with one call for each target, and resolves when each was made or has failed.
 * Only one pass runs at a time and includes what is written meanwhile, so a busy object makes fewer calls. A target
 * that cannot be reached rests for a moment, and if a pass ends then, so do all targets.
 */
export function makeDeliveries({ rows, send, acknowledge }: Options): () => Promise<void> {
  let passing: Promise<void> | undefined;
  /** Whether deliveries were written since the pass read the outbox. */
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
          if ("failed" in outcome) failed.add(id);
          else made.push(id);
        }
      }),
    );
    if (made.length > 0) acknowledge(made);
  }

  /** Undefined if the call failed. */
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

/** An alarm may run for 15 minutes. A pass ends before that, and the next one makes the rest. */
const PASS_MS = 60_000;
/** Less than the time after which the object's alarm tries again. */
const REST_MS = 1_000;
const AT_ONCE = 64;
