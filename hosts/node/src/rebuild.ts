import { setTimeout as sleep } from "node:timers/promises";
import { type Rebuilt, rebuild } from "@inference/settler/rebuild";
import { openChain } from "./chain.ts";
import { fileOf, openDatabase } from "./database.ts";
import { openNodeLedger } from "./ledger.ts";
import { log } from "./log.ts";
import type { NodeSettings } from "./settings.ts";

const PAUSE_MS = 2_000;

/** `npm run gateway -- rebuild`: brings the ledger's balances to the chain's. The gateway must not be running. */
export async function rebuildLedger(settings: NodeSettings): Promise<Rebuilt> {
  const database = openDatabase(fileOf(settings.DATABASE_FILE), settings.DATABASE_SYNCHRONOUS);
  const ledger = openNodeLedger(database, {
    now: Date.now,
    onAlert: (message) => log("alert", "ledger", { message }),
    onFatal(error) {
      throw error;
    },
  });
  try {
    const { client, watcher } = await openChain(settings, ledger);
    await ledger.recover();
    return await rebuild({
      ...{ client, ledger, watcher, now: Date.now, unresolvedHolds: ledger.unresolvedHolds() },
      async deliverAll() {
        await ledger.flush();
        await ledger.recover();
        await ledger.flush();
        return ledger.undelivered();
      },
      chainId: settings.PRIMARY_CHAIN_ID,
      settlement: settings.SETTLEMENT_ADDRESS,
      startBlock: settings.SETTLEMENT_START_BLOCK,
      pause: () => sleep(PAUSE_MS),
      tell: (message) => log("info", "rebuild", { message }),
    });
  } finally {
    await ledger.close();
    database.close();
  }
}
