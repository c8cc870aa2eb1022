import { fail } from "@inference/protocol/errors";
import type { OperatorConfig } from "../config.ts";

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
