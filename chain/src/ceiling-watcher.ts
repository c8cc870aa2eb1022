import type { LedgerClient } from "@inference/ledger/client";
import { ceilingPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import type { Address } from "@inference/protocol/credential";
import { MAX_NANO_USD, type NanoUsd } from "@inference/protocol/money";
import type { Heads } from "./heads.ts";
import type { ChainClient } from "./rpc.ts";
import { readCeiling } from "./settlement-view.ts";

/** Keeps the day's ceiling as the chain has it: a raised one counts when it is final, a lowered one when it is seen. */
export type CeilingWatcher = { poll(heads: Heads): Promise<void> };

export function createCeilingWatcher(options: {
  client: ChainClient;
  settlement: Address;
  ledger: LedgerClient;
  now(): number;
}): CeilingWatcher {
  const { client, settlement, ledger, now } = options;
  let seen: string | undefined;
  /** The block in which the ceiling was last seen as low as it is: a node that is behind must not raise it again. */
  let lowAt = 0;

  return {
    async poll({ latest, final }) {
      const view = `${latest.hash} ${final.hash}`;
      if (view === seen) return;
      const [whenFinal, whenSeen] = await Promise.all([
        readCeiling(client, settlement, final),
        readCeiling(client, settlement, latest),
      ]);
      seen = view;
      if (whenFinal === null || whenSeen === null) return;
      const limitNanoUsd = Math.min(toNanoUsd(whenFinal), toNanoUsd(whenSeen));
      const current = (await ledger.read(ceilingPartition, { type: "ceiling", at: now() })).limitNanoUsd ?? 0;
      if (limitNanoUsd < current) lowAt = latest.number;
      const isRaise = limitNanoUsd > current;
      if (limitNanoUsd === current || (isRaise && final.number < lowAt)) return;
      await ledger.run(() => send(ceilingPartition, { type: "setCeiling", limitNanoUsd }));
    },
  };
}

function toNanoUsd(ceiling: bigint): NanoUsd {
  return ceiling > BigInt(MAX_NANO_USD) ? MAX_NANO_USD : Number(ceiling);
}
