import { createHmac } from "node:crypto";
import type { AccountEvent, Webhook } from "@inference/ledger/commands";
import { type Partition, partitionAddress } from "@inference/ledger/partition";
import { fail } from "@inference/protocol/errors";
import { within } from "@inference/protocol/timers";
import type { GatewayConfig, OperatorConfig } from "../config.ts";
import { type Environment, WebhookFailure } from "../environment.ts";
import { amounts } from "../http/money.ts";
import { isoOrNull } from "../http/time.ts";

/** The most time that a receiver has for its answer. */
const RECEIVER_MS = 5_000;
/** Tests of one account in a minute; and at once, of all accounts and of one. */
export const TESTS_PER_MINUTE = 6;
export const TESTS = { atOnce: 16, each: 2 };

export type Message = { id: string; at: number; event: ToldEvent };

type SendResult = { isDelivered: boolean; result: string };

type WebhookSender = {
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

/** An event that a webhook is sent: an event of the ledger, or a test. */
type ToldEvent = AccountEvent | { type: "ping" };

/** The body of a message, by Standard Webhooks: its type, the time of the event, and the data. */
function eventBody(event: ToldEvent, { account, at }: { account: string; at: number }): string {
  const data = { account, ...dataOf(event) };
  return JSON.stringify({ type: event.type, timestamp: new Date(at).toISOString(), data });
}

function dataOf(event: ToldEvent): Record<string, unknown> {
  switch (event.type) {
    case "balance.low":
      return amounts({ balance: event.balanceNanoUsd, threshold: event.thresholdNanoUsd });
    case "credit.added":
      return amounts({ amount: event.amountNanoUsd, balance: event.balanceNanoUsd });
    case "offer.ended":
      return { agent: event.agent, offer: event.offer, reason: event.reason };
    case "ping":
      return {};
    default: {
      const { keyId, name, window, limitNanoUsd, usedNanoUsd, resetsAt } = event;
      const spent = amounts({ limit: limitNanoUsd, usage: usedNanoUsd });
      return { key_id: keyId, name, window, ...spent, resets_at: isoOrNull(resetsAt) };
    }
  }
}

/**
 * The URL that a wallet names for its events. Throws 400 unless it is https with a public host name, at port 443 or
 * 8443. The host refuses names that resolve to other addresses when it sends. With `local`, loopback is allowed too, over
 * http and at any port.
 */
export function parseWebhookUrl(text: string, targets: OperatorConfig["webhookTargets"]): string {
  if (!URL.canParse(text)) refuse("must be a whole URL that begins with https://");
  const { protocol, hostname, port, username, password, href } = new URL(text);
  if (username !== "" || password !== "") refuse("must have no user name and no password: check the signature instead");
  const isLocal = targets === "local" && LOOPBACK.has(hostname);
  if (protocol !== "https:" && !(isLocal && protocol === "http:")) refuse("must begin with https://");
  if (!isLocal && !isPublicName(hostname)) refuse("must have a host name that the internet can resolve");
  if (!isLocal && port !== "" && port !== "8443") refuse("must have the port 443 or 8443");
  return href;
}

const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** `URL` writes every form of an IPv4 address as four numbers, and an IPv6 address in brackets. */
function isPublicName(hostname: string): boolean {
  return /^[^[]*\.[^.]*[a-z][^.]*\.?$/i.test(hostname) && !/\.(localhost|local|internal)\.?$/i.test(hostname);
}

function refuse(what: string): never {
  return fail("invalid_request", `\`url\` ${what}.`, { param: "url" });
}
