import { MAX_NOTICES } from "@inference/ledger/limits";
import { deliveriesAnswer } from "@inference/protocol/wire/webhooks";
import { json, ok } from "../docs/operation.ts";
import { requirePersonalSession } from "../http/identify.ts";
import { endpoint } from "./endpoint.ts";
import { toDeliveryObject } from "./webhook-objects.ts";

export const listDeliveries = endpoint({
  path: "/api/v1/webhooks/deliveries",
  id: "listWebhookDeliveries",
  group: "Webhooks",
  title: "The last events, and how their delivery went",
  about: `At most ${MAX_NOTICES}, for a week. Answers of receivers are not kept, only their status.`,
  credentials: ["session"],
  answers: [ok("The newest first.", json("WebhookDeliveriesAnswer", deliveriesAnswer))],
  async handle(context) {
    const { partition } = await requirePersonalSession(context);
    const { notices } = await context.var.gateway.environment.ledger.read(partition, { type: "webhooks" });
    return context.json({ data: notices.toReversed().map(toDeliveryObject) });
  },
});
