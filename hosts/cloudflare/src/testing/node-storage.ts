import { DatabaseSync } from "node:sqlite";
import type { ObjectStorage } from "../row-memory.ts";

/**
 * An object's storage over Node's SQLite: rows need nothing else of their runtime, and are tried out here by the
 * thousand.
 */
export type NodeStorage = ObjectStorage & {
  database: DatabaseSync;
  /** Every statement since it was cleared. */
  statements: string[];
  /** The statement after so many more fails, as on a disk that is full. */
  failAfter(statements: number): void;
};

export function openNodeStorage(database = new DatabaseSync(":memory:")): NodeStorage {
  const statements: string[] = [];
  let left = Number.POSITIVE_INFINITY;
  function exec(statement: string, ...values: (string | number | null)[]) {
    statements.push(statement);
    left -= 1;
    if (left < 0) {
      left = Number.POSITIVE_INFINITY;
      throw new Error("disk full");
    }
    const rows = database.prepare(statement).all(...values);
    return { toArray: () => rows, one: () => rows[0] };
  }
  return {
    database,
    statements,
    failAfter(count) {
      left = count;
    },
    sql: { exec } as never,
    transactionSync(work) {
      database.exec("BEGIN");
      try {
        const result = work();
        database.exec("COMMIT");
        return result;
      } catch (error) {
        database.exec("ROLLBACK");
        throw error;
      }
    },
  };
}
