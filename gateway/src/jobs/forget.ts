import type { ForgettableTable, RowPosition } from "@inference/ledger/client";
import { OUTCOME_RETENTION_MS } from "@inference/ledger/limits";
import type { Partition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { forgettableTables } from "@inference/ledger/walks";
import { pause } from "@inference/protocol/timers";
import type { OperatorConfig } from "../config.ts";
import type { Environment } from "../environment.ts";

/** The parts of a gateway that forgetting needs. */
type Forgetter = {
  config: { operator: Pick<OperatorConfig, "receiptMs"> };
  environment: Pick<Environment, "clock" | "ledger" | "timers">;
};

/**
 * Deletes rows that nothing needs any more: the outcomes of requests after 48 hours, nonces, claims, sessions and keys
 * 48 hours after their end, and receipts with their uses after the operator's time, once they are debited. Totals stay
 * forever. Each page is its own commit, with a pause for requests between them. The ledger checks every row again.
 * Returns the number of rows.
 */
export async function forgetAll(gateway: Forgetter, stopped: AbortSignal): Promise<number> {
  let forgotten = 0;
  for (const table of forgettableTables) forgotten += await forgetTable(gateway, table, stopped);
  return forgotten;
}

/** Whether the customer checks the bill with these rows, which are kept as long as the operator says. */
export function isBill(table: ForgettableTable): boolean {
  return table === "receipt" || table === "record";
}

const ROWS_A_PAGE = 256;
const PAUSE_MS = 50;

async function forgetTable(gateway: Forgetter, table: ForgettableTable, stopped: AbortSignal): Promise<number> {
  const { clock, ledger, timers } = gateway.environment;
  const keepMs = isBill(table) ? gateway.config.operator.receiptMs : OUTCOME_RETENTION_MS;
  let forgotten = 0;
  let after: RowPosition | null = null;
  while (!stopped.aborted) {
    const at = clock.now();
    const page = await ledger.overdue(table, at - keepMs, { after, limit: ROWS_A_PAGE });
    const byPartition = Map.groupBy(page.rows, ({ partition }) => partition);
    forgotten += await ledger.run(() => forgetRows(table, { at, keepMs }, byPartition));
    if (page.next === null) return forgotten;
    after = page.next;
    await pause(timers, PAUSE_MS);
  }
  return forgotten;
}

function* forgetRows(
  table: ForgettableTable,
  time: { at: number; keepMs: number },
  byPartition: ReadonlyMap<Partition, RowPosition[]>,
) {
  let forgotten = 0;
  for (const [partition, rows] of byPartition) {
    const reply = yield* send(partition, { type: "forget", ...time, table, ids: rows.map(({ id }) => id) });
    forgotten += reply.forgotten;
  }
  return forgotten;
}
