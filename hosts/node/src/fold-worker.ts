import { parentPort, workerData } from "node:worker_threads";
import { connectTables, isDiskFull } from "./database.ts";
import { openFold } from "./fold.ts";
import type { Synchronous } from "./log-files.ts";

/**
 * Folds records in a thread of its own, with a connection of its own. If the disk is full, the same records may be
 * tried again. Any other error ends the thread.
 */
export type FoldRequest = { records: readonly Uint8Array[]; first: number };
export type FoldResult = "folded" | "full";
export type FoldPlace = { file: string; synchronous: Synchronous };

const { file, synchronous } = workerData as FoldPlace;
const fold = openFold(connectTables(file, synchronous));

parentPort?.on("message", ({ records, first }: FoldRequest) => {
  parentPort?.postMessage(tryToFold(records, first));
});

function tryToFold(records: readonly Uint8Array[], first: number): FoldResult {
  try {
    fold(records, first);
    return "folded";
  } catch (error) {
    if (isDiskFull(error)) return "full";
    throw error;
  }
}
