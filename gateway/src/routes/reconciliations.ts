import { chainPartition } from "@inference/ledger/partition";
import type { ReconciliationRow } from "@inference/ledger/tables";
import { fail } from "@inference/protocol/errors";
import type { Reconciliation } from "@inference/protocol/reconciliation";
import { reconciliationAnswer, reconciliationsAnswer } from "@inference/protocol/wire/settlement";
import * as z from "zod";
import { json, ok } from "../docs/operation.ts";
import type { Gateway } from "../gateway.ts";
import { validate } from "../http/json/validate.ts";
import { amounts } from "../http/money.ts";
import { queryOf } from "../http/query.ts";
import { endpoint } from "./endpoint.ts";

const query = z.strictObject({
  before: z.iso.date().optional().describe("Only days before this one."),
  limit: z.coerce.number().int().min(1).max(100).default(20).describe("Days on a page."),
});

export const listReconciliations = endpoint({
  path: "/api/v1/reconciliations",
  id: "listReconciliations",
  group: "Settlement",
  title: "Days, reconciled with the chain",
  about: "The newest first. A day is reconciled when it is over, and its record is final when nothing of it waits.",
  query,
  answers: [ok("A page of days.", json("ReconciliationsAnswer", reconciliationsAnswer))],
  errors: ["unsupported_parameter", "ledger_unavailable"],
  async handle(context) {
    const { before, limit } = validate(query, queryOf(context));
    const { config, environment } = context.var.gateway;
    const rows = await environment.ledger.read(chainPartition(config.settlement.chainId), {
      ...{ type: "reconciliations", limit },
      ...(before === undefined ? {} : { before }),
    });
    const next = rows.length < limit ? null : (rows.at(-1)?.id ?? null);
    return context.json({ data: rows.map(toReconciliationObject), next_before: next });
  },
});

/** The last day that is reconciled; undefined if none is. */
export async function lastReconciled(gateway: Gateway): Promise<ReconciliationRow | undefined> {
  return lastOf(await recentDays(gateway));
}

/** The newest day that is reconciled. */
export function lastOf(days: readonly ReconciliationRow[]): ReconciliationRow | undefined {
  return days.find(({ closedAt }) => closedAt !== null);
}

/** The newest day first. */
export function recentDays({ config, environment }: Gateway): Promise<ReconciliationRow[]> {
  const query = { type: "reconciliations", limit: MOST_OPEN + 1 } as const;
  return environment.ledger.read(chainPartition(config.settlement.chainId), query);
}

/** Usually today, and until 06:00 UTC yesterday. More while the chain finalizes nothing, or the gateway did not run. */
const MOST_OPEN = 30;

function toReconciliationObject({ id, at, closedAt, unexplainedNanoUsd, detail }: ReconciliationRow) {
  const record = JSON.parse(detail) as Reconciliation;
  return {
    day: id,
    status: closedAt === null ? "open" : "closed",
    at: new Date(at).toISOString(),
    ...amounts({
      statements: record.statementsNanoUsd,
      debited: record.debitedNanoUsd,
      foreign: record.foreignNanoUsd,
      unexplained: unexplainedNanoUsd,
    }),
    chunks: record.chunks,
    ...amounts({ listed: record.listedNanoUsd ?? null, provider: record.providerNanoUsd ?? null }),
  };
}

export const getReconciliation = endpoint({
  path: "/api/v1/reconciliations/{day}",
  id: "getReconciliation",
  group: "Settlement",
  title: "A day, reconciled with the chain",
  about:
    "`debited` is what the contract debited from the day's ceiling. `statements` is what of it pays statements of this " +
    "gateway, and `foreign` is the rest: somebody else posted it, or a restore lost its statement. `unexplained` is what " +
    "these do not add up to, and 0. `provider` is what the provider charged for the day by its own record, and `listed` " +
    "is the cost of the day's requests at its list prices. Both are null if the gateway does not read that record.",
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
