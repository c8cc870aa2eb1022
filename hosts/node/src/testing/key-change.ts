import type { Change, KeyRow } from "@inference/ledger/tables";

/** Writes a key. */
export function keyChange(id: string, revokedAt: number | null): Change {
  const row: KeyRow = {
    id,
    name: "",
    label: "",
    digest: "",
    window: "day",
    limitNanoUsd: null,
    disabled: 0,
    revokedAt,
    expiresAt: null,
    createdAt: 0,
    nonce: "",
    unpaidUntil: null,
    terms: null,
  };
  return { table: "key", id, row };
}
