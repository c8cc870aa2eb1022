import * as z from "zod";
import { limits } from "../config.ts";
import type { Environment } from "../environment.ts";
import { makeBoundedMap } from "../limits/bounded-map.ts";

/** A key at the provider: made under the master key for one identity, its secret sealed. */
const subKeySchema = z.object({
  id: z.string(),
  sealed: z.string(),
  /** Null: the provider has to say first that there still is such a key. */
  limitNanoUsd: z.int().nullable(),
  expiresAt: z.int(),
});
const recordSchema = z.object({
  upstreamKey: z.union([z.literal("master"), subKeySchema]),
  capacityNanoUsd: z.int(),
  /** The UTC day that the capacity is of, by the chain's own time. */
  day: z.string(),
  readAt: z.int(),
});
export type KeyRecord = z.infer<typeof recordSchema>;

/** Upstream key records in the key-value store. */
export type KeyRecordStore = {
  /** Undefined also for a record that nobody can read. Throws what the store throws. */
  get(name: string): Promise<KeyRecord | undefined>;
  /**
   * Known here at once, and written in the background. What the store does not take goes on being remembered: it may
   * name the only key that an identity has.
   */
  put(name: string, record: KeyRecord): void;
};

/** Records that the store did not take, or not yet; past this many the first of them is forgotten. */
const MAX_UNKEPT = 1_000;

export function makeKeyRecordStore({
  keyValue,
  log,
  background,
}: Pick<Environment, "keyValue" | "log" | "background">): KeyRecordStore {
  const unkept = makeBoundedMap<string, KeyRecord>(MAX_UNKEPT);
  const writing = new Set<string>();

  /** One write of a name at a time, so that an older record never comes after a newer one. */
  async function write(name: string): Promise<void> {
    if (writing.has(name)) return;
    writing.add(name);
    let tried: KeyRecord | undefined;
    for (;;) {
      const record = unkept.get(name);
      if (record === undefined || record === tried) break;
      tried = record;
      const { upstreamKey, readAt } = record;
      const expiresAt = upstreamKey === "master" ? readAt + limits.capacityServesMs : upstreamKey.expiresAt;
      try {
        await keyValue.put(name, JSON.stringify(record), { expiresAt });
        if (unkept.get(name) === record) unkept.delete(name);
      } catch (error) {
        log("alert", "key_record", { error: String(error) });
      }
    }
    writing.delete(name);
  }

  return {
    async get(name) {
      const known = unkept.get(name);
      if (known !== undefined) return known;
      const text = await keyValue.get(name);
      return text === null ? undefined : parse(text);
    },
    put(name, record) {
      if ((unkept.get(name)?.readAt ?? 0) > record.readAt) return;
      unkept.set(name, record);
      background(write(name));
    },
  };
}

function parse(text: string): KeyRecord | undefined {
  try {
    return recordSchema.safeParse(JSON.parse(text)).data;
  } catch {
    // No JSON is as another shape: the record is made anew.
    return undefined;
  }
}
