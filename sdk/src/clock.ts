import { readStatus } from "./activate.ts";
import type { Connection } from "./connection.ts";
import { oncePerConnection } from "./once.ts";

/** A difference that no message is refused for, in ms. */
const CLOSE_MS = 60_000;

/**
 * The time at the gateway, in ms since 1970. It takes signed messages for ten minutes by its own clock, from which this
 * machine's may be far. Asked once for a connection.
 */
export async function gatewayTime(connection: Connection): Promise<number> {
  return Date.now() + (await aheadOfUs(connection));
}

const aheadOfUs = oncePerConnection(async (connection) => {
  const { time } = await readStatus(connection);
  const difference = Date.parse(time) - Date.now();
  return Math.abs(difference) < CLOSE_MS ? 0 : difference;
});
