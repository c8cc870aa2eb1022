import type { GatewayContext } from "./context.ts";

/**
 * Who a request comes from, as its address tells: the peer, or what the proxy in front of us wrote last. An IPv6 client
 * has 2^64 addresses, and is named by what they have in common. Undefined where nobody knows.
 */
export function clientName(context: GatewayContext, header: string | null): string | undefined {
  const address = header === null ? context.env?.peerAddress : context.req.header(header)?.split(",").at(-1)?.trim();
  return address === undefined || address === "" ? undefined : networkOf(address);
}

export function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const text = address.toLowerCase().replace(/^\[|\]$|%.*$/g, "");
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(text)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = "", tail] = text.split("::");
  const first = head === "" ? [] : head.split(":");
  const last = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length);
  const groups = [...first, ...Array.from({ length: zeros }, () => "0"), ...last];
  return groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ""))
    .join(":");
}
