import type { Gateway } from "@inference/gateway/gateway";
import { openFixture } from "@inference/gateway/test/identity-fixture";
import type { LedgerClient } from "@inference/ledger/client";

/** A gateway for its jobs alone. An alert other than of a loss is an error. */
export function makeQuietGateway(ledger: LedgerClient, clock: { time: number }): Gateway {
  const { gateway } = openFixture(
    {},
    {
      ledger,
      clock: { now: () => clock.time },
      random: { bytes: (length) => new Uint8Array(length) },
      log(level, event, fields) {
        if (level === "alert" && event !== "loss") throw new Error(`${event}: ${JSON.stringify(fields)}`);
      },
    },
  );
  return gateway;
}
