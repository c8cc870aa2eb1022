import type { DatabaseSync } from "node:sqlite";
import { DAY_MS } from "@inference/protocol/window";
import type { Relayed } from "@inference/protocol/wire/top-up";
import type { Hex } from "viem";

/** A payment that the relay accepted, as it is stored. */
export type RelayRow = Omit<Relayed, "state" | "expires_at" | "transaction"> & {
  state: Exclude<Relayed["state"], "credited">;
  transaction: Hex | null;
  /** What the payer sent, as JSON. */
  body: string;
  /** Unix time in seconds from which the chain refuses it. */
  expiresAt: number;
  /** Units of the stablecoin that its payer needs; "0" if the dollars are in the door already. */
  value: string;
  /** Of an x402 payment that was stored before the chain had it: the one request that it serves. Never changes. */
  fingerprint: string | null;
  /** The first block that may have its events. */
  fromBlock: number;
  /** All its transactions that may be in a block, the last one first. */
  hashes: readonly Hex[];
  /** The relay's nonce of the last one. */
  nonce: number | null;
  /** In ms since the epoch. */
  sentAt: number | null;
  /** The fee for each gas of the last transaction, which its replacement must exceed. */
  feeWei: string;
  /** In ms since the epoch, when it is looked at again. */
  nextAt: number;
  /** In ms since the epoch, since when it would revert. */
  failingSince: number | null;
  reverts: number;
  /** The relay does nothing more for it by itself. */
  isOver: boolean;
};

/** The payments that the relay accepted. A payment is stored before its payer is answered. */
export type RelayStore = {
  get(id: string): RelayRow | undefined;
  put(row: RelayRow): void;
  /** Those of a chain that are not over, the oldest first. */
  open(chainId: number): RelayRow[];
  /** The number that are neither confirmed nor over. */
  pendingCount(): number;
  pendingOf(owner: string): RelayRow[];
};

/** How long a payment can be looked up after its end. */
const KEPT_MS = 90 * DAY_MS;

export function createRelayStore(database: DatabaseSync, now: () => number): RelayStore {
  database.exec(`
    CREATE TABLE IF NOT EXISTS relayed (
      id TEXT PRIMARY KEY, chain_id INTEGER NOT NULL, owner TEXT NOT NULL, is_over INTEGER NOT NULL,
      changed_at INTEGER NOT NULL, row TEXT NOT NULL
    );
    CREATE INDEX IF NOT EXISTS relayed_open ON relayed (chain_id) WHERE is_over = 0;
  `);
  const get = database.prepare("SELECT row FROM relayed WHERE id = ?");
  const put = database.prepare(
    "INSERT INTO relayed VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET " +
      "is_over = excluded.is_over, changed_at = excluded.changed_at, row = excluded.row",
  );
  const open = database.prepare("SELECT row FROM relayed WHERE chain_id = ? AND is_over = 0 ORDER BY rowid");
  const pending = "is_over = 0 AND json_extract(row, '$.state') <> 'confirmed'";
  const count = database.prepare(`SELECT count(*) AS n FROM relayed WHERE ${pending}`);
  const ofOwner = database.prepare(`SELECT row FROM relayed WHERE ${pending} AND owner = ?`);
  const forget = database.prepare("DELETE FROM relayed WHERE is_over = 1 AND changed_at < ?");
  const parse = (found: unknown): RelayRow => JSON.parse((found as { row: string }).row) as RelayRow;
  return {
    get(id) {
      const found = get.get(id.toLowerCase());
      return found === undefined ? undefined : parse(found);
    },
    put(row) {
      put.run(row.id, row.chain_id, row.owner, Number(row.isOver), now(), JSON.stringify(row));
      forget.run(now() - KEPT_MS);
    },
    open: (chainId) => open.all(chainId).map(parse),
    pendingCount: () => Number(count.get()?.n ?? 0),
    pendingOf: (owner) => ofOwner.all(owner.toLowerCase()).map(parse),
  };
}
