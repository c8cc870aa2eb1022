import * as z from "zod";
import { address, amounts, amountsOrNull, anyAmounts, count, hash, nanoUsd, time } from "./fields.ts";

/**
 * The gateway's answers about statements, and about days that were reconciled with the chain. Everything that an
 * account ever owed is one line from 0: a use, a statement and a record are stretches of it, `(before, after]` in
 * nano-dollars.
 */
const day = z.iso.date();

const part = z.strictObject({
  agent: address,
  day: day.describe("The UTC day of the agent's allowance."),
  ...amounts("amount"),
});

/** A final debit. Its leaf in the chunk's tree is made of the fields before `chunk`, and of the account. */
export const bookedRecord = z.strictObject({
  before_nano_usd: nanoUsd.describe("The account's debited total before it."),
  ...amounts("amount"),
  root: hash.describe(
    "The Merkle root of the uses of its statement. Two records have one root if it was paid in parts.",
  ),
  parts: z.array(part).describe("What agents served of the amount. A tenth comes back in tokens."),
  chunk: z.strictObject({
    root: hash.describe("The settlement contract stores the chunk's block under it: `blockOf(root)`."),
    block: count,
    transaction: hash,
    day: day.describe("The UTC day whose ceiling it is paid from."),
  }),
  proof: z.array(hash).describe("Leads from the record's leaf to the chunk's root."),
});

const statement = z.strictObject({
  before_nano_usd: nanoUsd,
  after_nano_usd: nanoUsd,
  root: hash.nullable().describe("The Merkle root of its uses. Null: it is being made."),
});

/** Of a statement: `posted` once its transaction was sent. */
const openStatus = z.enum(["pending", "posted"]);

export const statementsAnswer = z.strictObject({
  data: z.strictObject({
    account: address,
    ...amounts("debited"),
    records: z.array(bookedRecord).describe("In order. Each begins where the one before it ended."),
    open: statement
      .extend({ status: openStatus })
      .nullable()
      .describe("The statement that is not final. Null: there is none."),
    ...amounts("unsealed"),
    oldest_at: time.nullable().describe("When the oldest use was admitted that is not final. Null: all are final."),
    waiting_for: z.string().nullable().describe("Why what is not final waits, as a sentence. Null: it is on its way."),
  }),
  next_after: nanoUsd.nullable().describe("Send it as `after` for the next records. Null: there are none."),
});

/** A use: all of its leaf but the statement. `charged` is `ends_at - max(before, ends_at - charge)` of a statement. */
const use = z.strictObject({
  id: z.string().describe("The receipt's id."),
  ends_at_nano_usd: nanoUsd.describe("The account's total of charges after it."),
  ...amounts("charge"),
  day_served: day.describe("The UTC day of its admission."),
  served_by: z.union([z.literal("protocol"), address]).describe("`protocol`, or the agent whose allowance paid."),
  offer: hash.nullable().describe("The hash of the agent's offer."),
  price_snapshot: z.string(),
});

export const statementUsesAnswer = z.strictObject({
  data: z.array(use).describe("In order of settlement. Those of an API key are its own, and have gaps between them."),
  next_after: nanoUsd.nullable().describe("Send it as `after` for the next uses. Null: there are none."),
});

/** The settlement of a charge, in a receipt. */
export const receiptSettlement = z.strictObject({
  status: z
    .enum(["pending", "posted", "final"])
    .describe(
      "`pending`: not sent yet. `posted`: its transaction was sent. `final`: its transaction cannot be undone.",
    ),
  ends_at_nano_usd: nanoUsd.describe("The account's total of charges after it."),
  statement: statement.nullable().describe("Null: it is in none yet."),
  leaf: hash.nullable().describe("Its leaf in the tree of its statement."),
  proof: z
    .array(hash)
    .nullable()
    .describe(
      "Leads from the leaf to the statement's root. Null: there is no root yet, or the statement has more than " +
        "64 uses: make it from GET /api/v1/statements/uses.",
    ),
  record: bookedRecord.nullable().describe("The final debit. The contract's `verify` takes both proofs."),
});

/** What is posted on chain, in `/status`. */
export const settlementStatus = z.strictObject({
  ...anyAmounts("debited"),
  chunks_in_flight: count.describe("A chunk is a transaction that debits many accounts."),
  ...amounts("waiting"),
  waiting_accounts: count.describe("Accounts with a statement that is not final. They owe `waiting` by it."),
  oldest_at: time.nullable().describe("When the oldest use in such a statement was admitted. Null: there is none."),
  ...amounts("foreign"),
  foreign_accounts: z
    .array(z.strictObject({ account: address, ...amounts("foreign") }))
    .describe("The accounts of the last 31 days' debits that paid no statement of this gateway, at most 50."),
});

const reconciliation = z.strictObject({
  day,
  at: time.describe("When it was reconciled."),
  ...amounts("statements", "debited", "foreign", "unexplained"),
  chunks: count,
  ...amountsOrNull("listed", "provider"),
});

export const reconciliationsAnswer = z.strictObject({
  data: z.array(reconciliation),
  next_before: day.nullable().describe("Send it as `before` for the next page. Null: there is none."),
});

export const reconciliationAnswer = z.strictObject({ data: reconciliation });
