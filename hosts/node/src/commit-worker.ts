import { parentPort, workerData } from "node:worker_threads";
import type { CommitThreadData, CommitThreadMessage } from "./commit-thread.ts";
import { openDatabase } from "./database.ts";
import { type EncodedRows, writeEncoded } from "./encoded-rows.ts";
import { prepareStatements } from "./statements.ts";

/** What runs in the commit thread: one message, one transaction, one answer. */
const { file, synchronous } = workerData as CommitThreadData;

function answer(work: () => void): void {
  let message: CommitThreadMessage = { ok: true };
  try {
    work();
  } catch (error) {
    const { errcode } = error as { errcode?: unknown };
    message = { ok: false, message: (error as Error).message, errcode: typeof errcode === "number" ? errcode : null };
  }
  parentPort?.postMessage(message);
}

answer(() => {
  // The lock is a file of its own, so that the gateway can read the ledger's while this thread writes it.
  const lock = openDatabase(`${file}-lock`, "NORMAL");
  const database = openDatabase(file, synchronous, "shared");
  const statements = prepareStatements(database);
  const begin = database.prepare("BEGIN IMMEDIATE");
  const end = database.prepare("COMMIT");
  parentPort?.on("message", (rows: EncodedRows | null) =>
    answer(() => {
      if (rows === null) {
        database.close();
        lock.close();
        return;
      }
      begin.run();
      try {
        writeEncoded(statements, rows);
        end.run();
      } catch (error) {
        if (database.isTransaction) database.exec("ROLLBACK");
        throw error;
      }
    }),
  );
});
