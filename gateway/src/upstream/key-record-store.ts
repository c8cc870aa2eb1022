import * as z from "zod";
import { limits } from "../config.ts";
import type { Environment } from "../environment.ts";
import { parseJson } from "../json-object.ts";
import { BoundedMap } from "../load/bounded-map.ts";

/** A key at the provider, made for one identity under the master key. Its secret is sealed. */
const subKeySchema = z.object({
  id: z.string(),
  sealed: z.string(),
  /** Null: the provider must first confirm that the key still exists. */
  limitNanoUsd: z.int().nullable(),
  expiresAt: z.int(),
});
const recordSchema = z.object({
  upstreamKey: z.union([z.literal("master"), subKeySchema]),
  capacityNanoUsd: z.int(),
  /** The UTC day of the capacity, by the chain's time. */
  day: z.string(),
  readAt: z.int(),
});
export type KeyRecord = z.infer<typeof recordSchema>;

/** Upstream key records in the key-value store. */
export type KeyRecordStore = {
  /** Undefined also for a record that cannot be parsed. Throws what the store throws. */
  get(name: string): Promise<KeyRecord | undefined>;
  /**
   * Keeps a record in memory at once, and writes it in the background. A record that could not be written stays in
   * memory, because it may name the only key of an identity.
   */
  put(name: string, record: KeyRecord): void;
};

/** Maximum records in memory that are not written. Beyond it, the oldest is dropped. */
const MAX_UNKEPT = 1_000;

export function makeKeyRecordStore({
  keyValue,
  log,
  background,
}: Pick<Environment, "keyValue" | "log" | "background">): KeyRecordStore {
  const unkept = new BoundedMap<string, KeyRecord>(MAX_UNKEPT);
  const writing = new Set<string>();

  /** One write of a name at a time, so that an older record never replaces a newer one. */
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
      return text === null ? undefined : recordSchema.safeParse(parseJson(text)).data;
    },
    put(name, record) {
      if ((unkept.get(name)?.readAt ?? 0) > record.readAt) return;
      unkept.set(name, record);
      background(write(name));
    },
  };
}
