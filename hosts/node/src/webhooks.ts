import { Resolver } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { WebhookFailure, type WebhookTransport } from "@inference/gateway/environment";
import { resultWithin } from "@inference/protocol/timers";
import ipaddr from "ipaddr.js";
import { Agent } from "undici";
import { timers } from "./timers.ts";

export type WebhookOptions = {
  /** Whether loopback addresses are permitted too. */
  local: boolean;
  /** The addresses of a name; by DNS without it. */
  resolve?: (name: string) => Promise<readonly string[]>;
};

/**
 * Posts webhooks, each over a connection of its own. The addresses of a name are checked when it is resolved for the
 * connection, so that it cannot resolve to others afterwards.
 */
export function openWebhooks({
  local,
  resolve = (name) => resolveByDns(name),
}: WebhookOptions): WebhookTransport & { close(): Promise<void> } {
  const permits = (address: string): boolean => isPublic(address) || (local && rangeOf(address) === "loopback");

  async function permitted(name: string): Promise<{ address: string; family: number }[]> {
    const addresses = await resolve(name);
    if (addresses.length === 0) throw new WebhookFailure("unreachable");
    if (!addresses.every(permits)) throw new WebhookFailure("address_not_public");
    return addresses.map((address) => ({ address, family: isIP(address) }));
  }

  const checkedLookup: LookupFunction = (name, { all }, callback) => {
    permitted(name).then(
      (found) => (all === true ? callback(null, found) : callback(null, found[0]?.address ?? "", found[0]?.family)),
      (error: Error) => callback(error, ""),
    );
  };
  const agent = new Agent({
    connect: { lookup: checkedLookup, timeout: CONNECT_MS },
    ...{ pipelining: 0, connections: MAX_CONNECTIONS_EACH },
  });

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
/** Shorter than a try: a port that refuses and one that says nothing are both `unreachable`. */
const CONNECT_MS = 3_000;
/** How long the IPv6 addresses of a name may take after its IPv4 addresses have come. */
const OTHER_FAMILY_MS = 300;

/** Not `dns.lookup`: its few threads are the process's, and a customer's slow name server would hold them. */
const resolver = new Resolver({ timeout: 2_000, tries: 2 });
const dns = {
  resolve4: (name: string) => resolver.resolve4(name),
  resolve6: (name: string) => resolver.resolve6(name),
};

/** The addresses of a name. A name server that answers for one family alone does not hold up the other for long. */
export async function resolveByDns(name: string, { resolve4, resolve6 }: typeof dns = dns): Promise<string[]> {
  if (name === "localhost") return ["127.0.0.1"];
  const none = (): string[] => [];
  const ipv6 = resolve6(name).catch(none);
  const ipv4 = await resolve4(name).catch(none);
  if (ipv4.length === 0) return ipv6;
  return [...ipv4, ...(await resultWithin(timers, OTHER_FAMILY_MS, ipv6).catch(none))];
}

function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address) || rangeOf(address) !== "unicast") return false;
  // All public IPv6 addresses are in 2000::/3.
  return isIP(address) === 4 || ((ipaddr.parse(address).toByteArray()[0] ?? 0) & 0xe0) === 0x20;
}

function rangeOf(address: string): string {
  return ipaddr.isValid(address) ? ipaddr.parse(address).range() : "";
}
