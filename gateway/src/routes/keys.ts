import { MAX_KEYS_PER_ACCOUNT } from "@inference/ledger/limits";
import { keyLimitNames } from "@inference/protocol/key-limit";
import { limitResets } from "@inference/protocol/window";
import { keysAnswer, newKeyAnswer } from "@inference/protocol/wire/key-answers";
import { createApiKey } from "../auth/api-keys.ts";
import { json, ok } from "../docs/operation.ts";
import { requirePersonalSession } from "../http/identify.ts";
import { readSigned } from "../http/signed-message.ts";
import { endpoint } from "./endpoint.ts";
import { signatureErrors } from "./endpoint-errors.ts";
import { keyMessage } from "./key-message.ts";
import { toKeyObject } from "./key-object.ts";

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
