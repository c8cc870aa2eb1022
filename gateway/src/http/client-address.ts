import type { GatewayContext } from "./context.ts";

/**
 * Who a request comes from, as its address tells: what the proxy in front of us wrote last, or the peer where there is
 * no proxy, or it wrote no address. Undefined where nobody knows.
 */
export function clientName(context: GatewayContext, header: string | null): string | undefined {
  const written = header === null ? undefined : context.req.header(header)?.split(",").at(-1)?.trim();
  return networkOf(written ?? "") ?? networkOf(context.env?.peerAddress ?? "");
}

/**
 * What an address, with or without a port, counts as: an IPv4 address by itself, an IPv6 one as its network of 64 bits,
 * for a client has all of that. Undefined for what is no address.
 */
export function networkOf(text: string): string | undefined {
  const v4 = /^(\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?$/.exec(text)?.[1];
  if (v4 !== undefined) return v4;
  // In brackets there may be a port after it; a zone is the machine's own name for a link.
  const bare = (/^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? text).replace(/%.*$/, "");
  const url = `http://[${bare}]/`;
  if (!/^[\da-f:.]+$/i.test(bare) || !URL.canParse(url)) return undefined;
  const groups = groupsOf(new URL(url).hostname.slice(1, -1));
  const isMapped = groups.slice(0, 6).join(":") === "0:0:0:0:0:ffff";
  return isMapped ? groups.slice(6).flatMap(bytesOf).join(".") : groups.slice(0, 4).join(":");
}

/** All eight of an address that a URL has in its shortest form: lower case, and `::` for the longest run of zeros. */
function groupsOf(address: string): string[] {
  const [first = [], last = []] = address.split("::").map((part) => (part === "" ? [] : part.split(":")));
  return [...first, ...Array<string>(8 - first.length - last.length).fill("0"), ...last];
}

function bytesOf(group: string): number[] {
  const value = Number.parseInt(group, 16);
  return [value >> 8, value & 0xff];
}
