import type { BatchView } from "@inference/ledger/batch";
import { batchesAnswer } from "@inference/protocol/wire/settlement";
import * as z from "zod";
import { json, ok } from "../docs/operation.ts";
import { amounts } from "../http/money.ts";
import { queryOf } from "../http/query.ts";
import { validate } from "../inference/requests/validate.ts";
import { statusOf, transactionOf } from "../settlement/posted-batches.ts";
import { endpoint } from "./endpoint.ts";
import { ledgerErrors } from "./endpoint-errors.ts";

const query = z.strictObject({
  before: z.coerce.number().int().min(1).optional().describe("Only batches with a smaller id."),
  limit: z.coerce.number().int().min(1).max(100).default(20).describe("Batches on a page."),
});

export const listBatches = endpoint({
  method: "GET",
  path: "/api/v1/batches",
  id: "listBatches",
  group: "Settlement",
  title: "The batches in which uses are settled on chain",
  about: "The newest first. Every charge to a balance is in exactly one batch, or waits for one.",
  credentials: [],
  query,
  answers: [ok("A page of batches.", json("BatchesAnswer", batchesAnswer))],
  errors: ["unsupported_parameter", ...ledgerErrors],
  async handle(context) {
    const { before = null, limit } = validate(query, queryOf(context));
    const { batches, next } = await context.var.gateway.batches.list(before, limit);
    return context.json({ data: batches.map(toBatchObject), next_before: next });
  },
});

/** What the chain says of a batch, or will say. */
export function toBatchObject(batch: BatchView) {
  const { root, uses, amountNanoUsd, settledBy, block, signed } = batch;
  const paid = signed.find(({ hash }) => hash === settledBy) ?? signed[0];
  return {
    id: batch.batch,
    status: statusOf(batch),
    day: paid?.day ?? null,
    root,
    uses,
    ...amounts({ amount: amountNanoUsd }),
    transaction: transactionOf(batch),
    block,
  };
}
