import { keyAnswer } from "@inference/protocol/wire/key-answers";
import { setApiKeyTerms } from "../auth/api-keys.ts";
import { json, ok } from "../docs/operation.ts";
import { readSigned } from "../http/signed-message.ts";
import { endpoint } from "./endpoint.ts";
import { signatureErrors } from "./endpoint-errors.ts";
import { keyMessage } from "./key-message.ts";
import { toKeyObject } from "./key-object.ts";

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
