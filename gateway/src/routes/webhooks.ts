import type { Notice, Webhook } from "@inference/ledger/commands";
import { MAX_NOTICES, MAX_WEBHOOKS_PER_ACCOUNT } from "@inference/ledger/limits";
import { send } from "@inference/ledger/saga";
import { encodeBase32 } from "@inference/protocol/base32";
import { fail } from "@inference/protocol/errors";
import { parseUsd } from "@inference/protocol/money";
import { MAX_WEBHOOK_URL, NEAR_LIMIT_PERCENT, webhookEvents } from "@inference/protocol/webhook";
import { deletedAnswer } from "@inference/protocol/wire/key-answers";
import {
  deliveriesAnswer,
  newWebhookAnswer,
  webhooksAnswer,
  webhookTestAnswer,
} from "@inference/protocol/wire/webhooks";
import * as z from "zod";
import { keepRevocation } from "../auth/revocations.ts";
import { json, ok } from "../docs/operation.ts";
import { readDollarBody } from "../http/body.ts";
import { requirePersonalSession } from "../http/identify.ts";
import { validate } from "../http/json/validate.ts";
import { amounts } from "../http/money.ts";
import { isoOrNull } from "../http/time.ts";
import { parseWebhookUrl } from "../webhooks/target.ts";
import { endpoint } from "./endpoint.ts";

const webhookBody = z.strictObject({
  url: z.string().max(MAX_WEBHOOK_URL).describe("An https URL whose host name the internet can resolve."),
  events: z.array(z.enum(webhookEvents)).min(1).max(webhookEvents.length),
  /** Text by now, also where the body has a number. */
  threshold: z.string().optional().describe("For `balance.low`: in US dollars, as a number or as text like 5.00."),
});

export const createWebhook = endpoint({
  method: "POST",
  path: "/api/v1/webhooks",
  id: "createWebhook",
  group: "Webhooks",
  title: "A URL that is told events of the account",
  about:
    "`balance.low`: the unspent balance fell below `threshold`; a balance that is below it when the webhook is added is " +
    `not told. \`key.limit_near\`: the key has used ${NEAR_LIMIT_PERCENT} % of a limit in dollars. \`key.limit_reached\`: the limit is used up, or refused a ` +
    `request after ${NEAR_LIMIT_PERCENT} %; once for each limit and window. \`credit.added\`: an activation was credited. ` +
    "`offer.ended`: the offer of an agent that the wallet owns was withdrawn, or ended with its computer or owner. Each " +
    "event is posted as JSON, signed by Standard Webhooks (https://www.standardwebhooks.com), until the answer is 2xx: " +
    "eight times within a day. The same event always has the same `webhook-id`, and may arrive twice. An account has " +
    `at most ${MAX_WEBHOOKS_PER_ACCOUNT} webhooks, from its first credit on.`,
  credentials: ["session"],
  body: { name: "WebhookCreation", schema: webhookBody },
  answers: [{ status: 201, about: "The secret, this once.", content: json("NewWebhookAnswer", newWebhookAnswer) }],
  errors: ["unsupported_parameter", "insufficient_balance"],
  async handle(context) {
    const { gateway, at } = context.var;
    const { partition } = await requirePersonalSession(context);
    const body = validate(webhookBody, await readDollarBody(context, ["threshold"]));
    const webhook = {
      id: `wh_${encodeBase32(gateway.environment.random.bytes(10))}`,
      url: parseWebhookUrl(body.url, gateway.config.operator.webhookTargets),
      events: [...new Set(body.events)],
      thresholdNanoUsd: thresholdOf(body),
    };
    const { status } = await gateway.environment.ledger.run(() =>
      send(partition, { type: "setWebhook", at, ...webhook }),
    );
    if (status === "too_many") {
      const message = `This account has ${MAX_WEBHOOKS_PER_ACCOUNT} webhooks, the maximum. Remove one first.`;
      fail("invalid_request", message, { metadata: { max_webhooks: MAX_WEBHOOKS_PER_ACCOUNT } });
    }
    if (status === "unpaid") {
      fail("insufficient_balance", "This account never had a credit. Activate dollars first, then add the webhook.");
    }
    const secret = gateway.webhooks.secretOf(partition, webhook.id);
    const data = toWebhookObject({ ...webhook, createdAt: at });
    return context.json({ secret, data }, 201, { "cache-control": "no-store" });
  },
});

export const listWebhooks = endpoint({
  path: "/api/v1/webhooks",
  id: "listWebhooks",
  group: "Webhooks",
  title: "The account's webhooks",
  credentials: ["session"],
  answers: [ok("The oldest first.", json("WebhooksAnswer", webhooksAnswer))],
  async handle(context) {
    const { partition } = await requirePersonalSession(context);
    const { webhooks } = await context.var.gateway.environment.ledger.read(partition, { type: "webhooks" });
    return context.json({ data: webhooks.map(toWebhookObject) });
  },
});

function thresholdOf({ events, threshold }: z.infer<typeof webhookBody>): number | null {
  const isNamed = events.includes("balance.low");
  if (threshold === undefined) return isNamed ? refuse("is missing: `balance.low` needs it, like 5.00") : null;
  if (!isNamed) refuse("is for `balance.low` only: add this event, or leave the threshold out");
  const amount = parseUsd(threshold);
  return amount || refuse("must be an amount in USD above 0, like 5.00, of at most nine decimal places");
}

function refuse(what: string): never {
  return fail("invalid_request", `\`threshold\` ${what}.`, { param: "threshold" });
}

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
    await keepRevocation(gateway.environment, { partition, keyId: id, digest: id, at });
    return context.json({ deleted: true });
  },
});

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

/** A webhook as the API shows it. */
function toWebhookObject({ id, url, events, thresholdNanoUsd, createdAt }: Webhook) {
  return {
    id,
    url,
    events,
    ...amounts({ threshold: thresholdNanoUsd }),
    created_at: new Date(createdAt).toISOString(),
  };
}

/** A notice as a delivery of the log. */
function toDeliveryObject({ id, webhook, event, at, tries, triedAt, nextAt, isDelivered, result }: Notice) {
  return {
    id,
    webhook_id: webhook,
    type: event.type,
    created_at: new Date(at).toISOString(),
    status: isDelivered ? "delivered" : nextAt === null ? "given_up" : "pending",
    attempts: tries,
    last_attempt_at: isoOrNull(triedAt),
    next_attempt_at: isoOrNull(nextAt),
    result,
  };
}

function unknownWebhook(id: string): never {
  return fail("not_found", `This account has no webhook \`${id.slice(0, 64)}\`: see GET /api/v1/webhooks.`);
}
