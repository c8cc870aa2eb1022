import type { R2Bucket } from "@cloudflare/workers-types";
import type { Partition } from "@inference/ledger/partition";
import type { Change } from "@inference/ledger/tables";
import { log } from "./log.ts";
import type { Fold } from "./row-memory.ts";

export type Bucket = Pick<R2Bucket, "put" | "get" | "list" | "delete">;

/**
 * The copy of an object in a bucket: `<partition>/<number of the fold>` has each row that changed since the fold before,
 * as JSON. One PUT is one fold, so that the copy is always the object of one moment. The folders of the bucket are the
 * names of all objects, which Cloudflare does not list. Without a bucket nothing is copied.
 */
export type Export = {
  /** Writes a fold in the background, after those before: two of the same number must not overtake each other. */
  put(fold: Fold): void;
  /** All rows of the copy, and the number of its last fold. @throws If there is no copy, or a part is missing. */
  read(partition: Partition): Promise<{ last: number; changes: Change[] }>;
  /** Forgets this fold and those after it: the object was put back to before them, or is gone. */
  drop(fold: Pick<Fold, "partition" | "fold">): Promise<void>;
};

export function openExport(bucket: Bucket | undefined, background: (work: Promise<void>) => void): Export {
  let puts = Promise.resolve();

  async function put(partition: Partition, fold: number, changes: string): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await bucket?.put(keyOf(partition, fold), changes);
        return;
      } catch (error) {
        if (tries === PUT_TRIES) throw error;
      }
    }
  }

  async function foldsOf(partition: Partition): Promise<number[]> {
    const prefix = `${partition}/`;
    const folds: number[] = [];
    for (let cursor: string | undefined; bucket !== undefined; ) {
      const page = await bucket.list({ prefix, ...(cursor === undefined ? {} : { cursor }) });
      folds.push(...page.objects.map(({ key }) => Number(key.slice(prefix.length))));
      if (!page.truncated) break;
      cursor = page.cursor;
    }
    return folds;
  }

  return {
    put({ partition, fold, changes }) {
      if (bucket === undefined || partition === undefined) return;
      puts = puts
        .then(() => put(partition, fold, changes))
        .catch((error: unknown) => log("alert", "export_failed", { partition, fold, error: String(error) }));
      background(puts);
    },
    async read(partition) {
      const last = (await foldsOf(partition)).at(-1);
      if (last === undefined) throw new Error(`${partition} has no copy.`);
      const changes: Change[] = [];
      for (let fold = 0; fold <= last; fold += 1) {
        const stored = await bucket?.get(keyOf(partition, fold));
        if (stored == null) throw new Error(`The copy lacks ${keyOf(partition, fold)}.`);
        changes.push(...(await stored.json<Change[]>()));
      }
      return { last, changes };
    },
    async drop({ partition, fold: from }) {
      if (partition === undefined) return;
      // A fold on its way would stay.
      await puts;
      const folds = await foldsOf(partition);
      const keys = folds.filter((fold) => fold >= from).map((fold) => keyOf(partition, fold));
      for (let at = 0; at < keys.length; at += DELETED_AT_ONCE) {
        await bucket?.delete(keys.slice(at, at + DELETED_AT_ONCE));
      }
    },
  };
}

function keyOf(partition: Partition, fold: number): string {
  return `${partition}/${String(fold).padStart(10, "0")}`;
}

const PUT_TRIES = 3;
/** R2's own limit. */
const DELETED_AT_ONCE = 1_000;
