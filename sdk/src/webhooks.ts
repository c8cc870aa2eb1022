import type { WebhookEvent } from "@inference/protocol/webhook";
import type {
  deliveriesAnswer,
  newWebhookAnswer,
  webhooksAnswer,
  webhookTestAnswer,
} from "@inference/protocol/wire/webhooks";
import type * as z from "zod";
import type { Connection } from "./connection.ts";
import { requestAsOwner } from "./session.ts";

export type Webhook = z.infer<typeof webhooksAnswer>["data"][number];
export type NewWebhook = z.infer<typeof newWebhookAnswer>;
export type WebhookDelivery = z.infer<typeof deliveriesAnswer>["data"][number];
export type WebhookTest = z.infer<typeof webhookTestAnswer>["data"];
/** `threshold` is in dollars, for `balance.low`. */
export type WebhookTerms = { url: string; events: readonly WebhookEvent[]; threshold?: string };

const PATH = "/api/v1/webhooks";

/** Adds a URL that is told events of the account. The answer has the secret, and no later answer. */
export function addWebhook(connection: Connection, terms: WebhookTerms): Promise<NewWebhook> {
  return requestAsOwner(connection, PATH, { method: "POST", body: terms });
}

/** The oldest first. */
export async function listWebhooks(connection: Connection): Promise<Webhook[]> {
  return (await requestAsOwner<{ data: Webhook[] }>(connection, PATH)).data;
}

/** Removes a webhook with its pending events. */
export async function removeWebhook(connection: Connection, id: string): Promise<void> {
  await requestAsOwner(connection, `${PATH}/${encodeURIComponent(id)}`, { method: "DELETE" });
}

/** Has the gateway send a `ping` now. */
export async function testWebhook(connection: Connection, id: string): Promise<WebhookTest> {
  const path = `${PATH}/${encodeURIComponent(id)}/test`;
  return (await requestAsOwner<{ data: WebhookTest }>(connection, path, { method: "POST" })).data;
}

/** The last events, the newest first. */
export async function listDeliveries(connection: Connection): Promise<WebhookDelivery[]> {
  return (await requestAsOwner<{ data: WebhookDelivery[] }>(connection, `${PATH}/deliveries`)).data;
}
