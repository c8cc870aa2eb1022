import type { Partition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import type { Environment, KeyValueStore } from "../environment.ts";

/**
 * Secrets of keys that were revoked or replaced, by their digests, and removed webhooks, by their ids, in the key-value
 * store: an account whose rows are put back to an older state revives none of them.
 */
type Stores = Pick<Environment, "keyValue" | "ledger">;

/**
 * The ledger has already revoked it, so a failing store refuses nothing. Revoking the key again tries again. A removed
 * webhook's id is both the id and the digest.
 */
export async function keepRevocation(
  { keyValue, log }: Pick<Environment, "keyValue" | "log">,
  { partition, keyId, digest, at }: { partition: Partition; keyId: string; digest: string; at: number },
): Promise<void> {
  try {
    await keyValue.put(nameOf(partition, digest), "", { expiresAt: at + KEPT_MS });
  } catch (error) {
    log("alert", "revocation_not_kept", { partition, keyId, error: String(error) });
  }
}

/** Revokes an account's keys, and removes its webhooks, that were revoked after the state that it was put back to. */
export async function revokeAgain({ keyValue, ledger }: Stores, partition: Partition, at: number): Promise<void> {
  const keys = await ledger.read(partition, { type: "keys", at });
  const kept = await Promise.all(keys.map(({ key }) => keyValue.get(nameOf(partition, key.digest))));
  for (const [index, { key }] of keys.entries()) {
    if (kept[index] === null) continue;
    await ledger.run(() => send(partition, { type: "revokeKey", at, keyId: key.id }), { untilDurable: true });
  }
  const { webhooks } = await ledger.read(partition, { type: "webhooks" });
  for (const { id } of webhooks) {
    if ((await keyValue.get(nameOf(partition, id))) === null) continue;
    await ledger.run(() => send(partition, { type: "removeWebhook", id }), { untilDurable: true });
  }
}

/** The same for all accounts, on a host that starts with a file that may have been put back. */
export async function revokeAllAgain(
  stores: { ledger: Stores["ledger"]; keyValue: OrderedStore },
  at: number,
): Promise<void> {
  for (let after: string | undefined; ; ) {
    const names: string[] = await stores.keyValue.list(PREFIX, NAMES_A_PAGE, after);
    const accounts = new Set(names.map((name) => name.slice(PREFIX.length, name.lastIndexOf(" "))));
    for (const account of accounts) await revokeAgain(stores, account, at);
    after = names.at(-1);
    if (after === undefined || names.length < NAMES_A_PAGE) return;
  }
}

/** A store that lists page by page. */
export type OrderedStore = Omit<KeyValueStore, "list"> & {
  /** @param after Only keys behind this one. */
  list(prefix: string, limit: number, after?: string): Promise<string[]>;
};

function nameOf(partition: Partition, digest: string): string {
  return `${PREFIX}${partition} ${digest}`;
}

const PREFIX = "revoked:";
/** Longer than any copy that is put back: at the edge 30 days. */
const KEPT_MS = 400 * 24 * 3_600_000;
const NAMES_A_PAGE = 1_000;
