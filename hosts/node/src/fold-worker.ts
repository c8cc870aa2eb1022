import { parentPort, workerData } from "node:worker_threads";
import { connectTables, isDiskFull } from "./database.ts";
import { openFold } from "./fold.ts";
import { type Piece, readPiece, type Synchronous } from "./log-files.ts";

/** Folds the log in a thread of its own, with a connection of its own. `isFull`: it may be tried again. */
export type FoldResult = { until: number } | { error: string; isFull: boolean };

export type FoldPlace = { file: string; synchronous: Synchronous };

const { file, synchronous } = workerData as FoldPlace;
const database = connectTables(file, synchronous);
const fold = openFold(database);

parentPort?.on("message", (pieces: readonly Piece[]) => {
  parentPort?.postMessage(foldPieces(pieces));
});

function foldPieces(pieces: readonly Piece[]): FoldResult {
  try {
    const first = pieces[0]?.first ?? 0;
    fold(pieces.flatMap(readPiece), first);
    return { until: pieces.at(-1)?.last ?? 0 };
  } catch (error) {
    return { error: String(error), isFull: isDiskFull(error) };
  }
}
