import type { GatewayContext } from "./context.ts";

/**
 * The client's network: of the last address in the proxy's header, or of the peer if there is no proxy or no address in
 * its header. Undefined if it is unknown.
 */
export function clientName(context: GatewayContext, header: string | null): string | undefined {
  const written = header === null ? undefined : context.req.header(header)?.split(",").at(-1)?.trim();
  const network = written === undefined ? undefined : networkOf(written);
  return network ?? networkOf(context.env?.peerAddress ?? "");
}

/**
 * The name under which an address counts, with or without a port: an IPv4 address itself, of an IPv6 address its
 * 64-bit network, because one client has all of it. Undefined for text that is no address.
 */
export function networkOf(text: string): string | undefined {
  const v4 = /^(\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?$/.exec(text)?.[1];
  if (v4 !== undefined) return v4;
  // A port may follow the brackets. A zone (`%eth0`) is local to a machine.
  const bare = (/^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? text).replace(/%.*$/, "");
  const url = `http://[${bare}]/`;
  if (!/^[\da-f:.]+$/i.test(bare) || !URL.canParse(url)) return undefined;
  const groups = groupsOf(new URL(url).hostname.slice(1, -1));
  const isMapped = groups.slice(0, 6).join(":") === "0:0:0:0:0:ffff";
  return isMapped ? groups.slice(6).flatMap(bytesOf).join(".") : groups.slice(0, 4).join(":");
}

/**
 * All eight groups of an IPv6 address in the short form that URLs use: lower case, `::` for the longest run of zeros.
 */
function groupsOf(address: string): string[] {
  const [first = [], last = []] = address.split("::").map((part) => (part === "" ? [] : part.split(":")));
  return [...first, ...Array<string>(8 - first.length - last.length).fill("0"), ...last];
}

function bytesOf(group: string): number[] {
  const value = Number.parseInt(group, 16);
  return [value >> 8, value & 0xff];
}
