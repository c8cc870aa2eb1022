import * as z from "zod";
import { amounts, amountsOrNull, count, hash, time } from "./fields.ts";

/** The gateway's answers about batches, and about days that were reconciled with the chain. */
const batchStatus = z
  .enum(["pending", "posted", "final"])
  .describe(
    "`pending`: being prepared. `posted`: its transaction was sent. `final`: its transaction cannot be undone.",
  );

const batch = z.strictObject({
  id: z.int(),
  status: batchStatus,
  day: z.iso.date().nullable().describe("The UTC day whose ceiling it is paid from."),
  root: hash.describe("The Merkle root of its uses, which the settlement contract stores."),
  uses: count,
  ...amounts("amount"),
  transaction: hash.nullable(),
  block: z.int().nullable(),
});

export const batchesAnswer = z.strictObject({
  data: z.array(batch),
  next_before: z.int().nullable().describe("Send it as `before` for the next page. Null: there are no older batches."),
});

const reconciliation = z.strictObject({
  day: z.iso.date(),
  status: z.enum(["open", "closed"]).describe("`open`: something of the day is not final, and the record changes."),
  at: time.describe("When it was last reconciled."),
  ...amountsOrNull("accounts"),
  ...amounts("journal", "batches", "debited", "carried", "on_their_way", "waiting", "set_aside", "foreign"),
  ...amounts("unexplained"),
  uses: count,
  free_uses: count.describe("Uses that cost nothing, and are in no batch."),
});

export const reconciliationsAnswer = z.strictObject({
  data: z.array(reconciliation),
  next_before: z.iso.date().nullable().describe("Send it as `before` for the next page. Null: there is none."),
});

export const reconciliationAnswer = z.strictObject({ data: reconciliation });

export const batchAnswer = z.strictObject({
  data: batch.extend({
    leaves: z
      .array(
        z.strictObject({
          id: z.string().describe("The receipt's id."),
          ...amounts("charge"),
          day_served: z.int().describe("The UTC day of its admission, in days since 1970."),
          served_by: z.string().describe("`protocol`, or the token of the agent whose allowance paid."),
          offer: hash.nullable().describe("The hash of the agent's offer."),
          leaf: hash,
          proof: z.array(hash),
        }),
      )
      .optional()
      .describe(
        "With a credential: its uses. Those of a wallet's session are all of the account, and sum to its debit.",
      ),
  }),
});
