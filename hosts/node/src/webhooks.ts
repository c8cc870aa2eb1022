import { lookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { WebhookFailure, type WebhookTransport } from "@inference/gateway/environment";
import ipaddr from "ipaddr.js";
import { Agent } from "undici";

export type WebhookOptions = {
  /** Whether loopback addresses are permitted too. */
  local: boolean;
  /** Resolves names; `dns.lookup` without it. */
  resolve?: typeof lookup;
};

/**
 * Posts webhooks, each over a connection of its own. The addresses of a name are checked when it is resolved for the
 * connection, so that it cannot resolve to others afterwards.
 */
export function openWebhooks({
  local,
  resolve = lookup,
}: WebhookOptions): WebhookTransport & { close(): Promise<void> } {
  const permits = (address: string): boolean => isPublic(address) || (local && rangeOf(address) === "loopback");

  const checkedLookup: LookupFunction = (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) return callback(error ?? new WebhookFailure("unreachable"), "");
      if (!addresses.every(({ address }) => permits(address))) {
        return callback(new WebhookFailure("address_not_public"), "");
      }
      if (options.all === true) return callback(null, addresses);
      return callback(null, first.address, first.family);
    });
  };
  const agent = new Agent({ connect: { lookup: checkedLookup }, pipelining: 0, connections: MAX_CONNECTIONS_EACH });

  return {
    async post({ url, headers, body, signal }) {
      const { origin, pathname, search, hostname } = new URL(url);
      const address = hostname.replace(/^\[|\]$/g, "");
      // A connection to an address resolves nothing.
      if (isIP(address) !== 0 && !permits(address)) throw new WebhookFailure("address_not_public");
      try {
        const path = pathname + search;
        const answer = await agent.request({ origin, path, method: "POST", headers, body, signal });
        answer.body.on("error", () => undefined).destroy();
        return answer.statusCode;
      } catch (error) {
        if (error instanceof WebhookFailure) throw error;
        throw new WebhookFailure(signal.aborted ? "timeout" : "unreachable");
      }
    },
    close: () => agent.destroy(),
  };
}

const MAX_CONNECTIONS_EACH = 8;

function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address) || rangeOf(address) !== "unicast") return false;
  // All public IPv6 addresses are in 2000::/3.
  return isIP(address) === 4 || ((ipaddr.parse(address).toByteArray()[0] ?? 0) & 0xe0) === 0x20;
}

function rangeOf(address: string): string {
  return ipaddr.isValid(address) ? ipaddr.parse(address).range() : "";
}
