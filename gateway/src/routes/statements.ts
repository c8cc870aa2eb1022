import { MAX_NANO_USD } from "@inference/protocol/money";
import { statementsAnswer, statementUsesAnswer } from "@inference/protocol/wire/settlement";
import * as z from "zod";
import { json, ok } from "../docs/operation.ts";
import { requireAccount } from "../http/identify.ts";
import { validate } from "../http/json/validate.ts";
import { queryOf } from "../http/query.ts";
import { endpoint } from "./endpoint.ts";
import { statementsOf, usesOf } from "./statement-objects.ts";

export const position = z.coerce
  .number()
  .int()
  .min(0)
  .max(MAX_NANO_USD)
  .default(0)
  .describe("Only what ends above this total of the account's charges, in nano-dollars.");

const query = z.strictObject({
  after: position,
  limit: z.coerce.number().int().min(1).max(1_000).default(100).describe("Records on a page."),
});

export const getStatements = endpoint({
  path: "/api/v1/statements",
  id: "getStatements",
  group: "Settlement",
  title: "The account's debits on chain, and what is not final yet",
  about:
    "A statement is what the account owes between two totals, with the Merkle root of its uses. The settler posts it, and " +
    "the chain books it as a record. Each record begins where the one before it ended, from 0 to what the contract has " +
    "debited. With GET /api/v1/statements/uses anybody who has them can make each root again.",
  credentials: ["API key", "session"],
  query,
  answers: [ok("Records, and the statement that is open.", json("StatementsAnswer", statementsAnswer))],
  errors: ["unsupported_parameter", "wrong_identity"],
  async handle(context) {
    const { after: afterNanoUsd, limit } = validate(query, queryOf(context));
    const owner = await requireAccount(context);
    return context.json(await statementsOf(context.var.gateway, owner, { afterNanoUsd, limit }));
  },
});

const usesQuery = z.strictObject({
  after: position,
  limit: z.coerce.number().int().min(1).max(1_000).default(250).describe("Uses on a page."),
});

export const listStatementUses = endpoint({
  path: "/api/v1/statements/uses",
  id: "listStatementUses",
  group: "Settlement",
  title: "The uses in the account's statements",
  about:
    "In the order of settlement. Each ends at the account's total of charges after it. A statement has the uses that end " +
    "above its `before` and up to its `after`.",
  credentials: ["API key", "session"],
  query: usesQuery,
  answers: [ok("A page of uses.", json("StatementUsesAnswer", statementUsesAnswer))],
  errors: ["unsupported_parameter", "wrong_identity"],
  async handle(context) {
    const { after: afterNanoUsd, limit } = validate(usesQuery, queryOf(context));
    const owner = await requireAccount(context);
    return context.json(await usesOf(context.var.gateway, owner, { afterNanoUsd, limit }));
  },
});
