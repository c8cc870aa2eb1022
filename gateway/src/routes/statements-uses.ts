import { statementUsesAnswer } from "@inference/protocol/wire/settlement";
import * as z from "zod";
import { json, ok } from "../docs/operation.ts";
import { requireAccount } from "../http/identify.ts";
import { validate } from "../http/json/validate.ts";
import { queryOf } from "../http/query.ts";
import { endpoint } from "./endpoint.ts";
import { usesOf } from "./statement-objects.ts";
import { position } from "./statements.ts";

const query = z.strictObject({
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
  query,
  answers: [ok("A page of uses.", json("StatementUsesAnswer", statementUsesAnswer))],
  errors: ["unsupported_parameter", "wrong_identity"],
  async handle(context) {
    const { after: afterNanoUsd, limit } = validate(query, queryOf(context));
    const owner = await requireAccount(context);
    return context.json(await usesOf(context.var.gateway, owner, { afterNanoUsd, limit }));
  },
});
