import { type Audit, auditDatabase } from "@inference/gateway/test/chaos/audit";
import { openDatabase } from "../database.ts";
import { type NodeLedger, openNodeLedger } from "../ledger.ts";

/** Opens the ledger of a gateway that is not running, and closes it again. */
export async function withBooks<T>(file: string, work: (ledger: NodeLedger) => Promise<T>): Promise<T> {
  const database = openDatabase(file);
  try {
    const ledger = openNodeLedger(database, {
      now: Date.now,
      epoch: Date.now(),
      onAlert(message) {
        throw new Error(message);
      },
      onFatal(error) {
        throw error;
      },
    });
    const result = await work(ledger);
    await ledger.close();
    return result;
  } finally {
    database.close();
  }
}

/** Audits the ledger of a gateway that is not running, as the next start finds it. */
export function auditBooks(file: string): Audit {
  const database = openDatabase(file);
  try {
    return auditDatabase(database);
  } finally {
    database.close();
  }
}
