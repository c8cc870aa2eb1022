import { newKeyAnswer } from "@inference/protocol/wire/key-answers";
import { rollApiKey } from "../auth/api-keys.ts";
import { json, ok } from "../docs/operation.ts";
import { readSigned } from "../http/signed-message.ts";
import { endpoint } from "./endpoint.ts";
import { signatureErrors } from "./endpoint-errors.ts";
import { keyMessage } from "./key-message.ts";
import { toKeyObject } from "./key-object.ts";

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
