import { fail } from "@inference/protocol/errors";
import { parseUsd } from "@inference/protocol/money";
import { deletedAnswer, keyAnswer } from "@inference/protocol/wire/answers";
import * as z from "zod";
import { changeApiKey, revokeApiKey } from "../auth/api-keys.ts";
import { keyName } from "../auth/key-terms.ts";
import { limits } from "../config.ts";
import { json, ok } from "../docs/operation.ts";
import { readSmallBody } from "../http/body.ts";
import { requirePersonalSession } from "../http/identify.ts";
import { parseJsonBody } from "../http/json/parse-json-body.ts";
import { validate } from "../http/json/validate.ts";
import { parseKeepingDigits } from "../http/money.ts";
import { endpoint } from "./endpoint.ts";
import { authenticatedErrors, bodyErrors, credentialErrors, ledgerErrors } from "./endpoint-errors.ts";
import { toKeyObject } from "./key-object.ts";

const keyChangeBody = z.strictObject({
  name: keyName.optional(),
  disabled: z.boolean().optional(),
  /** Text by now, also where the body has a number. */
  limit: z
    .string()
    .optional()
    .describe("In US dollars, as a number or as text like 5.00. A session can only lower it."),
});

export const changeKey = endpoint({
  method: "PATCH",
  path: "/api/v1/keys/{id}",
  id: "changeKey",
  group: "Keys",
  title: "Rename, disable or enable a key, or lower its limit",
  credentials: ["session"],
  pathParameters: { id: "The key's id." },
  body: { name: "KeyChange", schema: keyChangeBody },
  answers: [ok("The key as it is now.", json("KeyAnswer", keyAnswer))],
  errors: [...bodyErrors, "unsupported_parameter", ...credentialErrors, "wrong_identity", "not_found", ...ledgerErrors],
  async handle(context) {
    const { gateway, at } = context.var;
    const { partition } = await requirePersonalSession(context);
    const body = await readSmallBody(context, limits.authBodyBytes);
    parseJsonBody(body);
    const text = new TextDecoder().decode(body);
    const { name, disabled, limit } = validate(keyChangeBody, parseKeepingDigits(text, "limit"));
    if (name === undefined && disabled === undefined && limit === undefined) {
      fail("invalid_request", "The body changes nothing. Send `name`, `disabled` or `limit`.");
    }
    const view = await changeApiKey(gateway, partition, {
      keyId: context.req.param("id") ?? "",
      at,
      change: {
        ...(name === undefined ? {} : { name }),
        ...(disabled === undefined ? {} : { disabled }),
        ...(limit === undefined ? {} : { limitNanoUsd: amount(limit) }),
      },
    });
    return context.json({ data: toKeyObject(view) });
  },
});

export const revokeKey = endpoint({
  method: "DELETE",
  path: "/api/v1/keys/{id}",
  id: "revokeKey",
  group: "Keys",
  title: "Revoke a key, at once and for good",
  credentials: ["session"],
  pathParameters: { id: "The key's id." },
  answers: [ok("It is revoked.", json("DeletedAnswer", deletedAnswer))],
  errors: ["wrong_identity", "not_found", ...authenticatedErrors],
  async handle(context) {
    const { gateway, at } = context.var;
    const { partition } = await requirePersonalSession(context);
    await revokeApiKey(gateway, partition, context.req.param("id") ?? "", at);
    return context.json({ deleted: true });
  },
});

function amount(limit: string): number {
  const message = "`limit` must be an amount in USD, like 5.00, of at most nine decimal places.";
  return parseUsd(limit) ?? fail("invalid_request", message, { param: "limit" });
}
