import { encodeBase32 } from "@inference/protocol/base32";
import { webhookTestAnswer } from "@inference/protocol/wire/webhooks";
import { json, ok } from "../docs/operation.ts";
import { requirePersonalSession } from "../http/identify.ts";
import { endpoint } from "./endpoint.ts";
import { unknownWebhook } from "./webhook-objects.ts";

export const testWebhook = endpoint({
  method: "POST",
  path: "/api/v1/webhooks/{id}/test",
  id: "testWebhook",
  group: "Webhooks",
  title: "Send a `ping` to a webhook now",
  about: "One try, which is not in the log. An account has six a minute, at each of a Worker's isolates.",
  credentials: ["session"],
  pathParameters: { id: "The webhook's id." },
  answers: [ok("The result.", json("WebhookTestAnswer", webhookTestAnswer))],
  errors: ["not_found"],
  async handle(context) {
    const { gateway, at } = context.var;
    const { partition } = await requirePersonalSession(context);
    const id = context.req.param("id") ?? "";
    gateway.rates.webhookTests.admit(partition, at);
    const { webhooks } = await gateway.environment.ledger.read(partition, { type: "webhooks" });
    const webhook = webhooks.find((one) => one.id === id) ?? unknownWebhook(id);
    const message = {
      id: `${id}_ping_${encodeBase32(gateway.environment.random.bytes(10))}`,
      at,
      event: { type: "ping" } as const,
    };
    const send = () => gateway.webhooks.send(partition, webhook, message);
    const { isDelivered, result } = await gateway.webhookTests(send, partition);
    return context.json({ data: { delivered: isDelivered, result } });
  },
});
