import type { R2Bucket } from "@cloudflare/workers-types";
import type { Partition } from "@inference/ledger/partition";
import type { Change } from "@inference/ledger/tables";

/**
 * The copy of an object in a bucket: `<partition>/<number of the fold>` has each row that changed since the fold before,
 * as JSON. One PUT is one fold, so that the copy is always the object of one moment. The folders of the bucket are the
 * names of all objects, which Cloudflare does not list.
 */
export type Bucket = Pick<R2Bucket, "put" | "get" | "list" | "delete">;

/** @throws If the bucket refuses three times. */
export async function putFold(bucket: Bucket, partition: Partition, fold: number, changes: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await bucket.put(keyOf(partition, fold), changes);
      return;
    } catch (error) {
      if (tries === PUT_TRIES) throw error;
    }
  }
}

/** The numbers of the folds that an object's copy has, in order. */
export async function foldsOf(bucket: Bucket, partition: Partition): Promise<number[]> {
  const prefix = `${partition}/`;
  const folds: number[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await bucket.list({ prefix, ...(cursor === undefined ? {} : { cursor }) });
    folds.push(...page.objects.map(({ key }) => Number(key.slice(prefix.length))));
    if (!page.truncated) return folds;
    cursor = page.cursor;
  }
}

/** @throws If the fold is gone. */
export async function readFold(bucket: Bucket, partition: Partition, fold: number): Promise<Change[]> {
  const stored = await bucket.get(keyOf(partition, fold));
  if (stored === null) throw new Error(`The copy lacks ${keyOf(partition, fold)}.`);
  return stored.json<Change[]>();
}

/** Forgets the folds from a number: the object was put back to before them, or is gone. */
export async function dropFolds(bucket: Bucket, partition: Partition, from: number): Promise<void> {
  const folds = await foldsOf(bucket, partition);
  const keys = folds.filter((fold) => fold >= from).map((fold) => keyOf(partition, fold));
  for (let at = 0; at < keys.length; at += DELETED_AT_ONCE) await bucket.delete(keys.slice(at, at + DELETED_AT_ONCE));
}

function keyOf(partition: Partition, fold: number): string {
  return `${partition}/${String(fold).padStart(10, "0")}`;
}

const PUT_TRIES = 3;
/** R2's own limit. */
const DELETED_AT_ONCE = 1_000;
