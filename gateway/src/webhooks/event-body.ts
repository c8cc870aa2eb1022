import type { AccountEvent } from "@inference/ledger/commands";
import { amounts } from "../http/money.ts";
import { isoOrNull } from "../http/time.ts";

/** An event that a webhook is sent: an event of the ledger, or a test. */
export type ToldEvent = AccountEvent | { type: "ping" };

/** The body of a message, by Standard Webhooks: its type, the time of the event, and the data. */
export function eventBody(event: ToldEvent, { account, at }: { account: string; at: number }): string {
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
