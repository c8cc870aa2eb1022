import { createHmac } from "node:crypto";
import type { Webhook } from "@inference/ledger/commands";
import { type Partition, partitionAddress } from "@inference/ledger/partition";
import { within } from "@inference/protocol/timers";
import type { GatewayConfig } from "../config.ts";
import { type Environment, WebhookFailure } from "../environment.ts";
import { eventBody, type ToldEvent } from "./event-body.ts";

/** The most time that a receiver has for its answer. */
const RECEIVER_MS = 5_000;
/** Tests of one account in a minute; and at once, of all accounts and of one. */
export const TESTS_PER_MINUTE = 6;
export const TESTS = { atOnce: 16, each: 2 };

export type Message = { id: string; at: number; event: ToldEvent };

type SendResult = { isDelivered: boolean; result: string };

export type WebhookSender = {
  /** The secret of a webhook, as Standard Webhooks writes it. It is derived from the gateway's, and never stored. */
  secretOf(account: Partition, id: string): string;
  /**
   * Sends one message. Never throws. The answer's body is not read.
   *
   * @param stopped Ends the try when it is aborted.
   */
  send(account: Partition, webhook: Webhook, message: Message, stopped?: AbortSignal): Promise<SendResult>;
};

/** Signs by Standard Webhooks (https://www.standardwebhooks.com), whose libraries verify the messages. */
export function makeWebhookSender(
  { secret, previousSecret }: Pick<GatewayConfig, "secret" | "previousSecret">,
  { clock, timers, webhooks }: Pick<Environment, "clock" | "timers" | "webhooks">,
): WebhookSender {
  const keyOf = (account: Partition, id: string, from = secret): Buffer =>
    createHmac("sha256", from).update(`webhook:${account} ${id}`).digest();
  return {
    secretOf: (account, id) => `whsec_${keyOf(account, id).toString("base64")}`,
    async send(account, { id, url }, message, stopped) {
      const body = eventBody(message.event, { account: partitionAddress(account), at: message.at });
      const sentAt = Math.floor(clock.now() / 1_000);
      const signed = `${message.id}.${sentAt}.${body}`;
      // A receiver accepts a message if any of its signatures is right.
      const signatures = [secret, previousSecret].flatMap((from) => {
        if (from === undefined) return [];
        return `v1,${createHmac("sha256", keyOf(account, id, from))
          .update(signed)
          .digest("base64")}`;
      });
      const headers = {
        "content-type": "application/json",
        "user-agent": "inference-gateway",
        "webhook-id": message.id,
        "webhook-timestamp": String(sentAt),
        "webhook-signature": signatures.join(" "),
      };
      try {
        const status = await within(timers, RECEIVER_MS, (late) => {
          const signal = stopped === undefined ? late : AbortSignal.any([late, stopped]);
          return webhooks.post({ url, headers, body, signal });
        });
        return { isDelivered: status >= 200 && status < 300, result: String(status) };
      } catch (error) {
        return { isDelivered: false, result: error instanceof WebhookFailure ? error.cause : "unreachable" };
      }
    },
  };
}
