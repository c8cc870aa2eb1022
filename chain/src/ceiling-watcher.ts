import type { LedgerClient } from "@inference/ledger/client";
import { ceilingPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import type { Address } from "@inference/protocol/credential";
import { cappedNanoUsd } from "@inference/protocol/money";
import { createAlarm } from "./alarm.ts";
import type { Heads } from "./heads.ts";
import type { ChainClient } from "./rpc.ts";
import { readCeiling } from "./settlement-view.ts";

/** Copies the ceiling from the chain to the ledger: a raise when it is final, a reduction when it is seen. */
export type CeilingWatcher = {
  /** Never throws, because credits do not depend on the ceiling. Every poll tries again. */
  poll(heads: Heads): Promise<void>;
};

/** How long it may fail before the operator is alerted. */
const PATIENCE_MS = 120_000;
/** The largest plausible distance from the final to the latest block. It limits the effect of a false latest block. */
const MAX_BLOCKS_AHEAD = 100_000;

export function createCeilingWatcher(options: {
  client: ChainClient;
  settlement: Address;
  ledger: LedgerClient;
  now(): number;
  onAlert(message: string): void;
}): CeilingWatcher {
  const { client, settlement, ledger, now } = options;
  const alarm = createAlarm(options);
  /** The blocks whose ceilings were read last. */
  let seen: string | undefined;
  let failingSince: number | undefined;

  async function follow({ latest, final }: Heads): Promise<void> {
    const [whenFinal, whenSeen] = await Promise.all([
      readCeiling(client, settlement, final),
      readCeiling(client, settlement, latest),
    ]);
    if (whenFinal === null || whenSeen === null) return;
    const limitNanoUsd = Math.min(cappedNanoUsd(whenFinal), cappedNanoUsd(whenSeen));
    // Earlier days take nothing from day 0, so this is the ceiling itself.
    const current = (await ledger.read(ceilingPartition, { type: "ceiling", at: 0 })).limitNanoUsd ?? 0;
    if (limitNanoUsd === current) return;
    const isLowered = limitNanoUsd < current;
    const loweredAt = (await ledger.read(ceilingPartition, { type: "cursor" }))?.block ?? 0;
    // A node that is behind must not undo a reduction that another has shown.
    if (!isLowered && final.number < loweredAt) return;
    const lowered = { block: Math.min(latest.number, final.number + MAX_BLOCKS_AHEAD), blockHash: latest.hash };
    await ledger.run(() =>
      send(ceilingPartition, { type: "setCeiling", limitNanoUsd, ...(isLowered ? { lowered } : {}) }),
    );
  }

  return {
    async poll(heads) {
      const view = `${heads.latest.hash} ${heads.final.hash}`;
      if (view === seen) return;
      try {
        await follow(heads);
        seen = view;
        failingSince = undefined;
      } catch (error) {
        failingSince ??= now();
        if (now() - failingSince >= PATIENCE_MS) alarm("waiting", `the day's ceiling is not kept: ${String(error)}`);
      }
    },
  };
}
