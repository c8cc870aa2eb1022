import { openDatabase } from "../database.ts";
import { type NodeLedger, openNodeLedger } from "../ledger.ts";

/** Opens the books of a gateway that is not running, and closes them again. */
export async function withBooks<T>(file: string, work: (ledger: NodeLedger) => Promise<T>): Promise<T> {
  const database = openDatabase(file);
  try {
    const ledger = openNodeLedger(database, {
      now: Date.now,
      onAlert(message) {
        throw new Error(message);
      },
      onFatal(error) {
        throw error;
      },
    });
    return await work(ledger);
  } finally {
    database.close();
  }
}
