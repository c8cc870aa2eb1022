import { ownValue } from "@inference/protocol/own-value";
import * as z from "zod";
import type { Context } from "./context.ts";

/** Names of keys that were seen here: an API key alone cannot list the account's keys. */
const FILE = "key-names.json";
const schema = z.record(z.string(), z.string());

export function rememberKeys({ folder }: Pick<Context, "folder">, keys: readonly { id: string; name: string }[]): void {
  try {
    const known = schema.safeParse(folder.readJson(FILE)).data ?? {};
    folder.writeJson(FILE, { ...known, ...Object.fromEntries(keys.map(({ id, name }) => [id, name])) });
  } catch {
    // The names only help to read.
  }
}

/** Undefined: no key of this id was seen. */
export function nameOfKey({ folder }: Pick<Context, "folder">, id: string): string | undefined {
  return ownValue(schema.safeParse(folder.readJson(FILE)).data, id);
}
