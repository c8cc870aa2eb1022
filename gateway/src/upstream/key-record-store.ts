import * as z from "zod";
import { limits } from "../config.ts";
import type { Environment } from "../environment.ts";

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
  /** What the store does not take is remembered here: it may name the only key that an identity has. */
  put(name: string, record: KeyRecord): Promise<void>;
};

/** Records that the store did not take; past this many the first of them is forgotten. */
const MAX_UNKEPT = 1_000;

export function makeKeyRecordStore({ keyValue, log }: Pick<Environment, "keyValue" | "log">): KeyRecordStore {
  const unkept = new Map<string, KeyRecord>();
  return {
    async get(name) {
      const known = unkept.get(name);
      if (known !== undefined) return known;
      const text = await keyValue.get(name);
      return text === null ? undefined : parse(text);
    },
    async put(name, record) {
      const { upstreamKey, readAt } = record;
      const expiresAt = upstreamKey === "master" ? readAt + limits.capacityServesMs : upstreamKey.expiresAt;
      unkept.delete(name);
      try {
        await keyValue.put(name, JSON.stringify(record), { expiresAt });
      } catch (error) {
        log("alert", "key_record", { error: String(error) });
        unkept.set(name, record);
        const [first = name] = unkept.keys();
        if (unkept.size > MAX_UNKEPT) unkept.delete(first);
      }
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
