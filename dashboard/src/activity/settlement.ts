import type { Statements } from "@inference/sdk/spending";

/** The state of a charge: its dot, its word, and a sentence. */
export const SETTLEMENT_STATES = {
  pending: ["", "Pending", "The charge is in no transaction yet."],
  posted: ["half", "Posted", "The charge is in a block that is not final yet."],
  final: ["good", "Confirmed", "The charge is in a final block."],
} as const;

/**
 * The state of a charge on the account's line.
 *
 * @param endsAtNanoUsd Null: nothing was charged to the balance.
 */
export function settlementAt(
  { debited_nano_usd: debited, open }: Pick<Statements, "debited_nano_usd" | "open">,
  endsAtNanoUsd: number | null,
): keyof typeof SETTLEMENT_STATES | null {
  if (endsAtNanoUsd === null) return null;
  if (endsAtNanoUsd <= debited) return "final";
  return open !== null && endsAtNanoUsd <= open.after_nano_usd ? open.status : "pending";
}
