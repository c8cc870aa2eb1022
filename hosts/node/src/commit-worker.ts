import { randomUUID } from "node:crypto";
import { parentPort, workerData } from "node:worker_threads";
import type { Asked, CommitThreadData, CommitThreadMessage } from "./commit-thread.ts";
import { lockFile, mayPass, openDatabase } from "./database.ts";
import { openRowLog, type RowLog } from "./row-log.ts";

/** What runs in the commit thread: one message, one transaction, one answer. In between it folds what it has logged. */
const { file, synchronous } = workerData as CommitThreadData;

/** The tables are behind by no more than this, and what is in memory because of it grows no longer. */
const FOLD_AFTER_MS = 250;
const FOLD_AGAIN_MS = 250;

function say(message: CommitThreadMessage): void {
  parentPort?.postMessage(message);
}

function answer(work: () => number): void {
  try {
    say({ ok: true, number: work() });
  } catch (error) {
    const { errcode } = error as { errcode?: unknown };
    say({ ok: false, message: (error as Error).message, errcode: typeof errcode === "number" ? errcode : null });
  }
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
  const check = (): void => {
    if (owner.get()?.id !== me) throw new Error(`another gateway has taken ${file}`);
  };
  const rows = openRowLog(database, { synchronous, check });
  rows.foldAll();
  const folding = foldInBetween(rows);

  function close(): void {
    folding.stop();
    try {
      rows.foldAll();
    } catch {
      // What could not be folded is in the log, for who opens the file next.
    }
    database.close();
    lock.close();
  }

  parentPort?.on("message", (asked: Asked) =>
    answer(() => {
      if (asked === "close") close();
      else if (asked === "fold") {
        // Also where there is nothing to fold: who asks is to know whose file it is.
        check();
        folding.finish();
      } else {
        folding.keepUp();
        const number = rows.append(asked);
        folding.soon();
        return number;
      }
      return rows.folded;
    }),
  );
  return rows.folded;
});

/** Folds while nothing is asked, in parts as small as who asks can wait for. */
function foldInBetween(rows: RowLog): { soon(): void; keepUp(): void; finish(): void; stop(): void } {
  /** Starts the next fold. An append neither clears nor postpones it: under steady traffic there is always another. */
  let timer: NodeJS.Timeout | undefined;
  let isNext = false;
  let told = rows.folded;

  function tell(): void {
    if (rows.folded > told) say({ folded: rows.folded });
    told = rows.folded;
  }

  function soon(): void {
    if (rows.isEmpty) return;
    timer ??= setTimeout(startFold, FOLD_AFTER_MS);
    if (isNext || !rows.isDue) return;
    isNext = true;
    setImmediate(part);
  }

  function startFold(): void {
    timer = undefined;
    inBetween(rows.fold);
  }

  function part(): void {
    isNext = false;
    inBetween(() => rows.read() || rows.fold());
  }

  function inBetween(work: () => void): void {
    try {
      work();
      tell();
      soon();
    } catch (error) {
      // Anything else ends the thread, and with it the process: who opens the file next folds.
      if (!mayPass(error)) throw error;
      clearTimeout(timer);
      timer = setTimeout(startFold, FOLD_AGAIN_MS);
    }
  }

  return {
    soon,
    keepUp() {
      while (rows.isBehind) rows.fold();
      tell();
    },
    finish() {
      rows.foldAll();
      tell();
    },
    stop: () => clearTimeout(timer),
  };
}
