import { fail } from "@inference/protocol/errors";
import { parseUsd } from "@inference/protocol/money";
import * as z from "zod";
import { changeApiKey, createApiKey, revokeApiKey, rollApiKey, setApiKeyTerms } from "../auth/api-keys.ts";
import { keyName } from "../auth/key-terms.ts";
import { limits } from "../config.ts";
import { readJsonText } from "../http/body.ts";
import type { GatewayContext } from "../http/context.ts";
import { requirePersonalSession } from "../http/identify.ts";
import { parseKeepingDigits } from "../http/money.ts";
import { readSigned, signedMessage } from "../http/signed-message.ts";
import { parseJsonBody } from "../inference/requests/parse-json-body.ts";
import { validate } from "../inference/requests/validate.ts";
import { toKeyObject } from "./key-object.ts";

export const keyCreationBody = z.strictObject(signedMessage);
export const keyChangeBody = z.strictObject({
  name: keyName.optional(),
  disabled: z.boolean().optional(),
  /** Text by now, also where the body has a number. */
  limit: z
    .string()
    .optional()
    .describe("In US dollars, as a number or as text like 5.00. A session can only lower it."),
});

/** POST /api/v1/keys: a key on the terms of a signed message. The answer shows it this once. */
export async function postKey(context: GatewayContext): Promise<Response> {
  const { gateway, at } = context.var;
  const body = await readSigned(context, keyCreationBody);
  const { key, view } = await createApiKey(gateway, body, at);
  return context.json({ key, data: toKeyObject(view) }, 201, { "cache-control": "no-store" });
}

/** GET /api/v1/keys: the account's keys that are not revoked, the newest first. */
export async function listKeys(context: GatewayContext): Promise<Response> {
  const { gateway, at } = context.var;
  const { partition } = await requirePersonalSession(context);
  const views = await gateway.environment.ledger.read(partition, { type: "keys", at });
  views.sort((one, other) => other.key.createdAt - one.key.createdAt);
  return context.json({ data: views.map(toKeyObject) });
}

/** POST /api/v1/keys/{id}/roll: another secret for a key, for a signed message. The answer shows it this once. */
export async function postRoll(context: GatewayContext): Promise<Response> {
  const { gateway, at } = context.var;
  const signed = await readSigned(context, keyCreationBody);
  const { key, view } = await rollApiKey(gateway, { keyId: context.req.param("id") ?? "", signed, at });
  return context.json({ key, data: toKeyObject(view) }, 200, { "cache-control": "no-store" });
}

/** POST /api/v1/keys/{id}/limit: other terms for a key, for a signed message that has them. */
export async function postLimit(context: GatewayContext): Promise<Response> {
  const { gateway, at } = context.var;
  const signed = await readSigned(context, keyCreationBody);
  const view = await setApiKeyTerms(gateway, { keyId: context.req.param("id") ?? "", signed, at });
  return context.json({ data: toKeyObject(view) });
}

/** PATCH /api/v1/keys/{id}: renames, disables or enables a key, or lowers its limit. */
export async function patchKey(context: GatewayContext): Promise<Response> {
  const { gateway, at } = context.var;
  const { partition } = await requirePersonalSession(context);
  const text = await readJsonText(context, limits.authBodyBytes);
  parseJsonBody(text);
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
}

/** DELETE /api/v1/keys/{id}: revokes a key, at once and for good. */
export async function deleteKey(context: GatewayContext): Promise<Response> {
  const { gateway, at } = context.var;
  const { partition } = await requirePersonalSession(context);
  await revokeApiKey(gateway, partition, context.req.param("id") ?? "", at);
  return context.json({ deleted: true });
}

function amount(limit: string): number {
  const message = "`limit` must be an amount in USD, like 5.00, of at most nine decimal places.";
  return parseUsd(limit) ?? fail("invalid_request", message, { param: "limit" });
}
