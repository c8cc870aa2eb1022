import { keyAnswer } from "@inference/protocol/wire/answers";
import { setApiKeyTerms } from "../auth/api-keys.ts";
import { json, ok } from "../docs/operation.ts";
import { readSigned } from "../http/signed-message.ts";
import { endpoint } from "./endpoint.ts";
import { bodyErrors, ledgerErrors, signatureErrors } from "./endpoint-errors.ts";
import { keyMessage } from "./key-message.ts";
import { toKeyObject } from "./key-object.ts";

export const setKeyTerms = endpoint({
  method: "POST",
  path: "/api/v1/keys/{id}/limit",
  id: "setKeyTerms",
  group: "Keys",
  title: "Raise or change a key's limit, its window or its expiry",
  about:
    "For a message whose one resource is the key's own URL with its new limit, like " +
    "`/api/v1/keys/{id}?limit=20.00&limit_reset=daily`; `limit=none` lifts it. The limit is one over the key's " +
    "lifetime without `limit_reset`. The expiry stays unless `expires_at` names another, or `none`. What was spent " +
    "stays counted.",
  credentials: [],
  pathParameters: { id: "The key's id." },
  body: keyMessage,
  answers: [ok("The key as it is now.", json("KeyAnswer", keyAnswer))],
  errors: [...bodyErrors, "unsupported_parameter", "key_expired", "not_found", ...signatureErrors, ...ledgerErrors],
  async handle(context) {
    const { gateway, at } = context.var;
    const signed = await readSigned(context, keyMessage.schema);
    const view = await setApiKeyTerms(gateway, { keyId: context.req.param("id") ?? "", signed, at });
    return context.json({ data: toKeyObject(view) });
  },
});
