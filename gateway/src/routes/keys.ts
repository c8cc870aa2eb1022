import { MAX_KEYS_PER_ACCOUNT } from "@inference/ledger/limits";
import { fail } from "@inference/protocol/errors";
import { keyLimitNames, makeKeyLimit } from "@inference/protocol/key-limit";
import { limitResets } from "@inference/protocol/window";
import { deletedAnswer, keyAnswer, keysAnswer, newKeyAnswer } from "@inference/protocol/wire/key-answers";
import * as z from "zod";
import {
  changeApiKey,
  createApiKey,
  type KeyChange,
  revokeApiKey,
  rollApiKey,
  setApiKeyTerms,
} from "../auth/api-keys.ts";
import { keyCount, keyModels, keyName, parseLimit } from "../auth/key-terms.ts";
import { json, ok } from "../docs/operation.ts";
import { readDollarBody } from "../http/body.ts";
import { requirePersonalSession } from "../http/identify.ts";
import { validate } from "../http/json/validate.ts";
import { readSigned, signedMessage } from "../http/signed-message.ts";
import { endpoint } from "./endpoint.ts";
import { signatureErrors } from "./endpoint-errors.ts";
import { toKeyObject } from "./key-object.ts";

/** The body that creates or changes a key: the wallet's message with the key's terms. */
const keyMessage = { name: "KeyCreation", schema: z.strictObject(signedMessage) };

export const createKey = endpoint({
  method: "POST",
  path: "/api/v1/keys",
  id: "createKey",
  group: "Keys",
  title: "A new API key",
  about:
    "For an EIP-4361 message whose one resource is this endpoint with the key's terms, all optional: `name`, `limit` " +
    `in dollars with \`limit_reset\` (\`${limitResets.join("` or `")}\`), more limits (\`${keyLimitNames.join("`, `")}\`), ` +
    "`models` (ids, or beginnings like `llama-*`, with commas), `private=true` for models alone that the provider calls " +
    "private, and `expires_at`. All limits hold at once, and exactly. An account has at most " +
    `${MAX_KEYS_PER_ACCOUNT} keys that are not revoked; one more is \`invalid_request\` with \`max_keys\`. One that ` +
    "expired is forgotten within three days and makes room, as one does that is not used and whose account is not " +
    "credited, about nine days after it was made.",
  body: keyMessage,
  answers: [{ status: 201, about: "The key, this once.", content: json("NewKeyAnswer", newKeyAnswer) }],
  errors: ["unsupported_parameter", ...signatureErrors, "ledger_unavailable"],
  async handle(context) {
    const { gateway, at } = context.var;
    const body = await readSigned(context, keyMessage.schema);
    const { key, view } = await createApiKey(gateway, body, at);
    return context.json({ key, data: toKeyObject(view) }, 201, { "cache-control": "no-store" });
  },
});

export const listKeys = endpoint({
  path: "/api/v1/keys",
  id: "listKeys",
  group: "Keys",
  title: "The wallet's keys",
  credentials: ["session"],
  answers: [ok("Those not revoked, the newest first.", json("KeysAnswer", keysAnswer))],
  async handle(context) {
    const { gateway, at } = context.var;
    const { partition } = await requirePersonalSession(context);
    const views = await gateway.environment.ledger.read(partition, { type: "keys", at });
    views.sort((one, other) => other.key.createdAt - one.key.createdAt);
    return context.json({ data: views.map(toKeyObject) });
  },
});

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

export const rollKey = endpoint({
  method: "POST",
  path: "/api/v1/keys/{id}/roll",
  id: "rollKey",
  group: "Keys",
  title: "Another secret for a key",
  about: "Its id, limits and history stay; the old secret is void at once. For a message that names this endpoint.",
  pathParameters: { id: "The key's id." },
  body: keyMessage,
  answers: [ok("The key, this once.", json("NewKeyAnswer", newKeyAnswer))],
  errors: ["unsupported_parameter", "not_found", ...signatureErrors, "ledger_unavailable"],
  async handle(context) {
    const { gateway, at } = context.var;
    const signed = await readSigned(context, keyMessage.schema);
    const { key, view } = await rollApiKey(gateway, { keyId: context.req.param("id") ?? "", signed, at });
    return context.json({ key, data: toKeyObject(view) }, 200, { "cache-control": "no-store" });
  },
});

export const setKeyTerms = endpoint({
  method: "POST",
  path: "/api/v1/keys/{id}/limit",
  id: "setKeyTerms",
  group: "Keys",
  title: "Raise or change a key's terms",
  about:
    "For a message whose one resource is the key's own URL with its new terms, like " +
    "`/api/v1/keys/{id}?limit=20.00&limit_reset=daily`. The terms are those of `POST /api/v1/keys` without `name`. Those " +
    "that are not named stay, and `none` lifts one; but if a limit in dollars is named, the limits in dollars that are " +
    "not named end. What was spent stays counted. Requests and tokens count from the setting of their first limit.",
  pathParameters: { id: "The key's id." },
  body: keyMessage,
  answers: [ok("The key as it is now.", json("KeyAnswer", keyAnswer))],
  errors: ["unsupported_parameter", "key_expired", "not_found", ...signatureErrors, "ledger_unavailable"],
  async handle(context) {
    const { gateway, at } = context.var;
    const signed = await readSigned(context, keyMessage.schema);
    const view = await setApiKeyTerms(gateway, { keyId: context.req.param("id") ?? "", signed, at });
    return context.json({ data: toKeyObject(view) });
  },
});
