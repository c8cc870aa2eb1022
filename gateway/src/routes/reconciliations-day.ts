import { chainPartition } from "@inference/ledger/partition";
import { fail } from "@inference/protocol/errors";
import { reconciliationAnswer } from "@inference/protocol/wire/settlement";
import * as z from "zod";
import { json, ok } from "../docs/operation.ts";
import { endpoint } from "./endpoint.ts";
import { ledgerErrors } from "./endpoint-errors.ts";
import { toReconciliationObject } from "./reconciliations.ts";

export const getReconciliation = endpoint({
  method: "GET",
  path: "/api/v1/reconciliations/{day}",
  id: "getReconciliation",
  group: "Settlement",
  title: "A day, reconciled with the chain",
  about:
    "`accounts`, `journal` and `batches` are what was charged to balances on the day, as each of them has it. `debited` is " +
    "what the chain has debited for these uses. What differs by name: `waiting` and `on_their_way` are not final yet, " +
    "`set_aside` is not posted. `foreign` is what batches of somebody else paid from the day's ceiling; it is unexplained " +
    "until the operator accepts them. `unexplained` is everything else, and 0.",
  credentials: [],
  pathParameters: { day: "A UTC day, such as 2026-11-22." },
  answers: [ok("The day.", json("ReconciliationAnswer", reconciliationAnswer))],
  errors: ["not_found", ...ledgerErrors],
  async handle(context) {
    const { config, environment } = context.var.gateway;
    const day = context.req.param("day") ?? "";
    if (!z.iso.date().safeParse(day).success) {
      fail("invalid_request", "The path needs a UTC day, such as 2026-11-22.", { param: "day" });
    }
    const query = { type: "reconciliation", day } as const;
    const row = await environment.ledger.read(chainPartition(config.settlement.chainId), query);
    if (row === null)
      return fail("not_found", "The day is not reconciled. GET /api/v1/reconciliations lists those that are.");
    return context.json({ data: toReconciliationObject(row) });
  },
});
