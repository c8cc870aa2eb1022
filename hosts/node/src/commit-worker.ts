import { randomUUID } from "node:crypto";
import { parentPort, workerData } from "node:worker_threads";
import type { CommitThreadData, CommitThreadMessage } from "./commit-thread.ts";
import { lockFile, openDatabase } from "./database.ts";
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
  const lock = lockFile(file);
  const database = openDatabase(file, synchronous, "shared");
  // A lock can be deleted under its holder. Who took the file last is written in the file itself.
  const me = randomUUID();
  database.exec("CREATE TABLE IF NOT EXISTS owner (row INTEGER PRIMARY KEY CHECK (row = 1), id TEXT NOT NULL) STRICT");
  database.prepare("INSERT INTO owner VALUES (1, ?) ON CONFLICT DO UPDATE SET id = excluded.id").run(me);
  const owner = database.prepare("SELECT id FROM owner");
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
        if (owner.get()?.id !== me) throw new Error(`another gateway has taken ${file}`);
        writeEncoded(statements, rows);
        end.run();
      } catch (error) {
        if (database.isTransaction) database.exec("ROLLBACK");
        throw error;
      }
    }),
  );
});
