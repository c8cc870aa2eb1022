import { chainPartition } from "@inference/ledger/partition";
import { fail } from "@inference/protocol/errors";
import { reconciliationAnswer } from "@inference/protocol/wire/settlement";
import * as z from "zod";
import { json, ok } from "../docs/operation.ts";
import { endpoint } from "./endpoint.ts";
import { toReconciliationObject } from "./reconciliations.ts";

export const getReconciliation = endpoint({
  path: "/api/v1/reconciliations/{day}",
  id: "getReconciliation",
  group: "Settlement",
  title: "A day, reconciled with the chain",
  about:
    "`debited` is what the contract debited from the day's ceiling. `statements` is what of it pays statements of this " +
    "gateway, `uses` are the charges in their leaves, and `foreign` is the rest: somebody else posted it, or a restore " +
    "lost its statement. `unexplained` is what these do not add up to, and 0. `provider` is what the provider charged for " +
    "the day by its own record, and `listed` is the cost of the day's requests at its list prices. Both are null if the " +
    "gateway does not read that record.",
  pathParameters: { day: "A UTC day, such as 2026-11-22." },
  answers: [ok("The day.", json("ReconciliationAnswer", reconciliationAnswer))],
  errors: ["not_found", "ledger_unavailable"],
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
