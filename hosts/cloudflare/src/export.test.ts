import assert from "node:assert/strict";
import { test } from "node:test";
import { type Bucket, openExport } from "./export.ts";

test("a copy that is dropped is gone, also the fold that was on its way", async () => {
  const stored = new Map<string, string>();
  const arrival = Promise.withResolvers<void>();
  const bucket = {
    async put(key: string, text: string) {
      await arrival.promise;
      stored.set(key, text);
    },
    list: async () => ({ objects: [...stored.keys()].map((key) => ({ key })), truncated: false }),
    async delete(keys: string[]) {
      for (const key of keys) stored.delete(key);
    },
  } as unknown as Bucket;
  const works: Promise<void>[] = [];
  const copy = openExport(bucket, (work) => works.push(work));
  const partition = `account:0x${"a1".repeat(20)}`;
  copy.put({ partition, fold: 3, changes: "[]" });
  const dropped = copy.drop({ partition, fold: 0 });
  arrival.resolve();
  await Promise.all([...works, dropped]);
  assert.deepEqual([...stored.keys()], []);
});
