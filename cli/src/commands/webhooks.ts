import { type WebhookEvent, webhookEvents } from "@inference/protocol/webhook";
import {
  deliveriesAnswer,
  newWebhookAnswer,
  webhooksAnswer,
  webhookTestAnswer,
} from "@inference/protocol/wire/webhooks";
import { addWebhook, listDeliveries, listWebhooks, removeWebhook, testWebhook } from "@inference/sdk";
import * as z from "zod";
import { command } from "../command.ts";
import { connectAsOwner } from "../connections.ts";
import { UsageError } from "../errors.ts";
import { usd } from "../money.ts";
import { signerOptions } from "../options.ts";
import { table } from "../table.ts";

const idArgument = { about: "its id, as `infer webhooks list` shows it" } as const;

export const webhooksList = command({
  name: "webhooks list",
  about: "the URLs that are told events of the account",
  arguments: {},
  options: signerOptions,
  output: z.strictObject({ webhooks: webhooksAnswer.shape.data }),
  async run(context, { options }) {
    return { webhooks: await listWebhooks(await connectAsOwner(context, options)) };
  },
  text: ({ webhooks }, columns) =>
    table(
      ["webhook", "url", "events", " threshold"],
      webhooks.map(({ id, url, events, threshold_nano_usd: threshold }) => {
        return [id, url, events.join(", "), threshold === null ? "" : usd(threshold)];
      }),
      { columns, empty: "There are none. `infer webhooks add` makes one." },
    ),
});

export const webhooksAdd = command({
  name: "webhooks add",
  about: "have the gateway tell a URL what happens to the account",
  more: "The secret is printed once. It verifies the signatures of the events (https://www.standardwebhooks.com).",
  arguments: { url: { about: "https, with a host name that the internet can resolve" } },
  options: {
    ...signerOptions,
    event: {
      ...{ type: "string", value: "name", multiple: true },
      about: `${webhookEvents.join(", ")}; all of them without it`,
    },
    threshold: { type: "string", value: "dollars", about: "balance.low is told below it" },
  },
  output: newWebhookAnswer,
  async run(context, { arguments: { url }, options }) {
    const { threshold } = options;
    const without = threshold === undefined ? "balance.low" : undefined;
    const events = options.event?.map(eventOf) ?? webhookEvents.filter((name) => name !== without);
    const terms = threshold === undefined ? {} : { threshold: threshold.replace(/^\$/, "") };
    return addWebhook(await connectAsOwner(context, options), { url, events, ...terms });
  },
  text: ({ secret, data: { id, events } }) => `${secret}\n${id}: ${events.join(", ")}`,
});

export const webhooksRemove = command({
  name: "webhooks remove",
  about: "end a webhook, with its pending events",
  arguments: { webhook: idArgument },
  options: signerOptions,
  output: z.strictObject({ webhook_id: z.string(), removed: z.literal(true) }),
  async run(context, { arguments: { webhook }, options }) {
    await removeWebhook(await connectAsOwner(context, options), webhook);
    return { webhook_id: webhook, removed: true as const };
  },
  text: ({ webhook_id: id }) => `${id} is removed.`,
});

export const webhooksTest = command({
  name: "webhooks test",
  about: "send a ping to a webhook now",
  arguments: { webhook: idArgument },
  options: signerOptions,
  output: webhookTestAnswer.shape.data,
  async run(context, { arguments: { webhook }, options }) {
    return testWebhook(await connectAsOwner(context, options), webhook);
  },
  text: ({ delivered, result }) => (delivered ? `Delivered: ${result}.` : `Not delivered: ${result}.`),
  exitCode: ({ delivered }) => (delivered ? 0 : 1),
});

export const webhooksLog = command({
  name: "webhooks log",
  about: "the last events, and how their delivery went",
  arguments: {},
  options: signerOptions,
  output: z.strictObject({ deliveries: deliveriesAnswer.shape.data }),
  async run(context, { options }) {
    return { deliveries: await listDeliveries(await connectAsOwner(context, options)) };
  },
  text: ({ deliveries }, columns) =>
    table(
      ["time", "event", "webhook", "status", " attempts", "result", "next attempt"],
      deliveries.map(
        ({ created_at: at, type, webhook_id: webhook, status, attempts, result, next_attempt_at: next }) => {
          return [at, type, webhook, status.replace("_", " "), String(attempts), result ?? "", next ?? ""];
        },
      ),
      { columns, empty: "There are none yet." },
    ),
});

function eventOf(text: string): WebhookEvent {
  const found = webhookEvents.find((name) => name === text);
  if (found === undefined) throw new UsageError(`--event takes ${webhookEvents.join(", ")}, not \`${text}\`.`);
  return found;
}
