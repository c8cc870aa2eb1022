import * as z from "zod";
import { webhookEvents } from "../webhook.ts";
import { amountsOrNull, count, time } from "./fields.ts";

/** The answers about webhooks. */
const webhook = z.strictObject({
  id: z.string(),
  url: z.string(),
  events: z.array(z.enum(webhookEvents)),
  ...amountsOrNull("threshold"),
  created_at: time,
});

const delivery = z.strictObject({
  id: z.string().describe("The header `webhook-id` of all its tries."),
  webhook_id: z.string(),
  type: z.enum(webhookEvents),
  created_at: time,
  status: z.enum(["pending", "delivered", "given_up"]),
  attempts: count,
  last_attempt_at: time.nullable(),
  next_attempt_at: time.nullable(),
  result: z.string().nullable().describe("Of the last try: the status of the answer, or a word for the failure."),
});

const test = z.strictObject({
  delivered: z.boolean(),
  result: z.string().describe("The status of the answer, or a word for the failure."),
});

export const webhooksAnswer = z.strictObject({ data: z.array(webhook) });
export const newWebhookAnswer = z.strictObject({
  secret: z.string().describe("Verifies the signature of each event. Shown this once."),
  data: webhook,
});
export const webhookTestAnswer = z.strictObject({ data: test });
export const deliveriesAnswer = z.strictObject({ data: z.array(delivery) });
