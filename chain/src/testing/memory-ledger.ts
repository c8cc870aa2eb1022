import { type LedgerClient, LedgerUnavailable } from "@inference/ledger/client";
import type { Command } from "@inference/ledger/commands";
import { openMemoryHost } from "@inference/ledger/testing/memory-host";

/** A ledger in memory that can crash between a commit and the deliveries it caused. */
export type MemoryLedger = LedgerClient & {
  crashing: boolean;
  /** Continues after a crash with the remaining deliveries. */
  recover(): void;
  /** Every command that was committed. */
  applied: Command[];
};

export function openMemoryLedger(now: () => number = Date.now): MemoryLedger {
  const applied: Command[] = [];
  const host = openMemoryHost({
    now,
    beforeCommit(_, command) {
      if (ledger.crashing && command.type === "hear") throw new LedgerUnavailable("crashed");
      applied.push(command);
    },
  });
  const ledger: MemoryLedger = {
    ...host,
    crashing: false,
    applied,
    recover() {
      ledger.crashing = false;
      host.deliverAll();
    },
  };
  return ledger;
}
