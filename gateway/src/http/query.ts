import { fail } from "@inference/protocol/errors";
import type { GatewayContext } from "./context.ts";

/** The query's members by name. Throws 400 for a name that comes twice. */
export function queryOf(context: GatewayContext): Record<string, string> {
  const members = new Map<string, string>();
  for (const [name, value] of new URL(context.req.url).searchParams) {
    if (members.has(name)) {
      const param = name.slice(0, 64);
      fail("invalid_request", `\`${param}\` is in the query twice. Send it once.`, { param });
    }
    members.set(name, value);
  }
  return Object.fromEntries(members);
}
