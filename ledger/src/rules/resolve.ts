import type { NanoUsd } from "@inference/protocol/money";
import type { Tally } from "../messages/commands.ts";
import { isAccount } from "../messages/partition.ts";
import type { ReceiptRow } from "../rows/tables.ts";
import { settleUnder } from "./allowance.ts";
import { settleIn } from "./budget.ts";
import { countForKey } from "./key-limits.ts";
import { capacityId } from "./offer.ts";
import type { Place } from "./place.ts";
import { countReceipt } from "./totals.ts";

export type Resolution = {
  at: number;
  state: "settled" | "released";
  chargeNanoUsd: NanoUsd;
  lossNanoUsd: NanoUsd;
  /** The receipt's detail; null for a request that was never forwarded and leaves no receipt. */
  detail: string | null;
  tally?: Tally | undefined;
  tokens?: number | undefined;
};

/** Ends a hold: it becomes a receipt, and its charge counts in every budget that held it. */
export function resolve(place: Place, hold: ReceiptRow, resolution: Resolution): ReceiptRow {
  const { at: resolvedAt, state, chargeNanoUsd, lossNanoUsd, detail, tally } = resolution;
  const receipt = { ...hold, state, resolvedAt, chargeNanoUsd, lossNanoUsd, detail: detail ?? "" };
  const { draft } = place;
  draft.put("receipt", receipt);
  const { admittedAt: at, keyId } = hold;
  if (isAccount(place.partition)) {
    settleIn(place, { budget: "balance", window: "lifetime", at }, chargeNanoUsd);
    const key = keyId === null ? undefined : draft.get("key", keyId);
    const tokens = resolution.tokens ?? (state === "settled" ? hold.heldTokens : null) ?? 0;
    if (key !== undefined) countForKey(place, key, at, chargeNanoUsd, { requests: detail === null ? 0 : 1, tokens });
  } else settleIn(place, { budget: capacityId(at), window: "day", at }, chargeNanoUsd);
  if (detail !== null) countReceipt(place, receipt, tally);
  settleUnder(place, receipt, chargeNanoUsd);
  return receipt;
}
