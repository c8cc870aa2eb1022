import { send } from "@inference/ledger/saga";
import { deletedAnswer } from "@inference/protocol/wire/key-answers";
import { keepRemoval } from "../auth/revocations.ts";
import { json, ok } from "../docs/operation.ts";
import { requirePersonalSession } from "../http/identify.ts";
import { endpoint } from "./endpoint.ts";
import { unknownWebhook } from "./webhook-objects.ts";

export const deleteWebhook = endpoint({
  method: "DELETE",
  path: "/api/v1/webhooks/{id}",
  id: "deleteWebhook",
  group: "Webhooks",
  title: "Remove a webhook, with its pending events and its log",
  credentials: ["session"],
  pathParameters: { id: "The webhook's id." },
  answers: [ok("It is removed.", json("DeletedAnswer", deletedAnswer))],
  errors: ["not_found"],
  async handle(context) {
    const { partition } = await requirePersonalSession(context);
    const id = context.req.param("id") ?? "";
    const { gateway, at } = context.var;
    const { status } = await gateway.environment.ledger.run(() => send(partition, { type: "removeWebhook", id }));
    if (status === "unknown") unknownWebhook(id);
    await keepRemoval(gateway.environment, { partition, webhook: id, at });
    return context.json({ deleted: true });
  },
});
