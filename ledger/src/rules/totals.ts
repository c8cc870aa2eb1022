import { assertNanoUsd } from "@inference/protocol/money";
import { utcDay } from "@inference/protocol/window";
import type { Tally } from "../messages/commands.ts";
import type { Draft } from "../rows/draft.ts";
import type { ReadRows, ReceiptRow, TotalRow } from "../rows/tables.ts";
import { MAX_TAGS } from "./limits.ts";
import type { Place } from "./place.ts";

/**
 * Totals: the receipts of a partition added up by the day of admission, the key, the model and the tag, in the commit
 * that writes each receipt. Many requests share a row, and the row stays when its receipts are forgotten. Each receipt
 * is in one row, so the rows of a day, key and model come to its receipts, whatever their tags. A free request counts
 * under no tag: its client paid for no row.
 */
export function countReceipt(
  { draft, rows }: Pick<Place, "draft" | "rows">,
  { admittedAt, keyId, chargeNanoUsd }: ReceiptRow,
  { model, promptTokens, completionTokens, tag }: Tally = untold,
): void {
  const ofKey = `${utcDay(admittedAt)} ${keyId ?? ""} `;
  const isTagged = tag !== undefined && chargeNanoUsd > 0;
  const id = isTagged ? taggedId(draft, rows, { ofKey, model, tag }) : ofKey + model;
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

/** The most totals of a day and key that are read. A key with more has no further tags on that day. */
const TOTALS_READ = 256;

/** The id of a tag's total: its own, or the one of the model's tags above `MAX_TAGS`, whose tag is empty. */
function taggedId(
  draft: Draft,
  rows: ReadRows,
  { ofKey, model, tag }: { ofKey: string; model: string; tag: string },
): string {
  const others = `${ofKey}${model}\n`;
  const own = others + tag;
  if (draft.get("total", own) !== undefined) return own;
  // It is there once the tags have become too many.
  if (draft.get("total", others) !== undefined) return others;
  const told = rows.list("total", { after: ofKey, limit: TOTALS_READ }).filter(({ id }) => id.startsWith(ofKey));
  const named = told.filter(({ id }) => id.includes("\n") && !id.endsWith("\n"));
  return told.length < TOTALS_READ && named.length < MAX_TAGS ? own : others;
}

/** The tag that the requests with tags above `MAX_TAGS` are told under. */
export const OTHER_TAG = "other";

/** The parts of a total's id. A key of null: requests of sessions. A tag of null: requests without one. */
type TotalTerms = { day: string; keyId: string | null; model: string; tag: string | null };

export function totalTerms({ id }: Pick<TotalRow, "id">): TotalTerms {
  const [untagged = "", tag] = id.split("\n");
  const [day = "", keyId = "", ...model] = untagged.split(" ");
  const terms = { day, keyId: keyId === "" ? null : keyId, model: model.join(" ") };
  return { ...terms, tag: tag === undefined ? null : tag || OTHER_TAG };
}
