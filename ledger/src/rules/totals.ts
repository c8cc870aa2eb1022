import { assertNanoUsd } from "@inference/protocol/money";
import { utcDay } from "@inference/protocol/window";
import type { Tally } from "../messages/commands.ts";
import type { Draft } from "../rows/draft.ts";
import type { ReceiptRow, TotalRow } from "../rows/tables.ts";

/**
 * Totals: the receipts of a partition added up by the day of admission, the key and the model, in the commit that
 * writes each receipt. Many requests share a row, and the row stays when its receipts are forgotten.
 */
export function countReceipt(
  draft: Draft,
  { admittedAt, keyId, chargeNanoUsd }: ReceiptRow,
  { model, promptTokens, completionTokens }: Tally = untold,
): void {
  const id = `${utcDay(admittedAt)} ${keyId ?? ""} ${model}`;
  const total = draft.get("total", id);
  draft.put("total", {
    id,
    requests: (total?.requests ?? 0) + 1,
    chargeNanoUsd: assertNanoUsd((total?.chargeNanoUsd ?? 0) + chargeNanoUsd, `the total of ${id}`),
    promptTokens: (total?.promptTokens ?? 0) + promptTokens,
    completionTokens: (total?.completionTokens ?? 0) + completionTokens,
  });
}

const untold: Tally = { model: "", promptTokens: 0, completionTokens: 0 };

/** The parts of a total's id: the UTC day, the key (null for a session's requests), the model. */
export function totalTerms({ id }: Pick<TotalRow, "id">): { day: string; keyId: string | null; model: string } {
  const [day = "", keyId = "", ...model] = id.split(" ");
  return { day, keyId: keyId === "" ? null : keyId, model: model.join(" ") };
}
