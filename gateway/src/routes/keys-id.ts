import { fail } from "@inference/protocol/errors";
import { keyLimitNames, makeKeyLimit } from "@inference/protocol/key-limit";
import { deletedAnswer, keyAnswer } from "@inference/protocol/wire/key-answers";
import * as z from "zod";
import { changeApiKey, type KeyChange, revokeApiKey } from "../auth/api-keys.ts";
import { keyCount, keyModels, keyName, parseLimit } from "../auth/key-terms.ts";
import { json, ok } from "../docs/operation.ts";
import { readDollarBody } from "../http/body.ts";
import { requirePersonalSession } from "../http/identify.ts";
import { validate } from "../http/json/validate.ts";
import { endpoint } from "./endpoint.ts";
import { toKeyObject } from "./key-object.ts";

/** Text by now, also where the body has a number. */
const dollars = z.string().optional().describe("In US dollars, as a number or as text like 5.00.");
const dollarFields = { limit: dollars, limit_daily: dollars, limit_monthly: dollars, limit_lifetime: dollars };
const dollarNames = Object.keys(dollarFields);

const keyChangeBody = z.strictObject({
  name: keyName.optional(),
  disabled: z.boolean().optional(),
  ...dollarFields,
  requests_per_minute: keyCount.optional(),
  tokens_per_minute: keyCount.optional(),
  models: keyModels.optional(),
  private: z.literal(true).optional().describe("Allows models alone that the provider calls private."),
});

export const changeKey = endpoint({
  method: "PATCH",
  path: "/api/v1/keys/{id}",
  id: "changeKey",
  group: "Keys",
  title: "Rename, disable or enable a key, or tighten its terms",
  about:
    "A limit is lowered or added, and `models` allows fewer models than before. To loosen a term, the wallet signs: " +
    "`POST /api/v1/keys/{id}/limit`. `limit` is the limit in dollars that the key shows under this name.",
  credentials: ["session"],
  pathParameters: { id: "The key's id." },
  body: { name: "KeyChange", schema: keyChangeBody },
  answers: [ok("The key as it is now.", json("KeyAnswer", keyAnswer))],
  errors: ["unsupported_parameter", "not_found"],
  async handle(context) {
    const { gateway, at } = context.var;
    const { partition } = await requirePersonalSession(context);
    const body = validate(keyChangeBody, await readDollarBody(context, dollarNames));
    if (Object.keys(body).length === 0) {
      fail("invalid_request", "The body changes nothing. Send `name`, `disabled` or a term, like `limit`.");
    }
    const view = await changeApiKey(gateway, partition, {
      keyId: context.req.param("id") ?? "",
      at,
      change: changeOf(body),
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
  errors: ["not_found"],
  async handle(context) {
    const { gateway, at } = context.var;
    const { partition } = await requirePersonalSession(context);
    await revokeApiKey(gateway, partition, context.req.param("id") ?? "", at);
    return context.json({ deleted: true });
  },
});

function changeOf({ limit, models, private: isPrivate, ...body }: z.infer<typeof keyChangeBody>): KeyChange {
  const limitNanoUsd = parseLimit(limit ?? null);
  const lower = keyLimitNames.flatMap((name) => {
    const most = typeof body[name] === "string" ? parseLimit(body[name], name) : body[name];
    return most === undefined || most === null ? [] : [makeKeyLimit(name, most)];
  });
  return {
    ...(body.name === undefined ? {} : { name: body.name }),
    ...(body.disabled === undefined ? {} : { disabled: body.disabled }),
    ...(limitNanoUsd === null ? {} : { limitNanoUsd }),
    ...(lower.length === 0 ? {} : { limits: lower }),
    ...(models === undefined ? {} : { models }),
    ...(isPrivate === undefined ? {} : { isPrivate }),
  };
}
