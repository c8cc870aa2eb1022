import { readStatus } from "./activate.ts";
import type { Connection } from "./connection.ts";
import { oncePerConnection } from "./once.ts";

/** A clock difference below which no message is refused, in ms. */
const CLOSE_MS = 60_000;

/**
 * The time at the gateway, in ms since 1970. The gateway accepts a signed message for ten minutes by its own clock, and
 * this machine's clock may be wrong. Asked once for a connection.
 */
export async function gatewayTime(connection: Connection): Promise<number> {
  return Date.now() + (await aheadOfUs(connection));
}

const aheadOfUs = oncePerConnection(async (connection) => {
  const { time } = await readStatus(connection);
  const difference = Date.parse(time) - Date.now();
  return Math.abs(difference) < CLOSE_MS ? 0 : difference;
});
