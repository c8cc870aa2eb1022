import { parentPort, workerData } from "node:worker_threads";
import { type Changes, prepareCommit } from "./commit.ts";
import { connectTables, isDiskFull, type Synchronous } from "./database.ts";

/** Commits changes in a thread of its own. After a full disk it can go on; any other error ends the thread. */
export type CommitPlace = { file: string; synchronous: Synchronous };
export type CommitResult = "durable" | "full";

const { file, synchronous } = workerData as CommitPlace;
const commit = prepareCommit(connectTables(file, synchronous));

parentPort?.on("message", (changes: Changes) => {
  parentPort?.postMessage(tryToCommit(changes));
});

function tryToCommit(changes: Changes): CommitResult {
  try {
    commit(changes);
    return "durable";
  } catch (error) {
    if (isDiskFull(error)) return "full";
    throw error;
  }
}
