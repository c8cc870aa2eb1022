import { accountPartition, ceilingPartition } from "@inference/ledger/partition";
import type { Step } from "@inference/ledger/saga";
import { windowStart } from "@inference/protocol/window";
import { post } from "./edge-books.ts";
import { BOOKS_WORKER, withWorker } from "./with-worker.ts";

/** The rate of the ceiling's object alone, which every prepaid request passes twice. */
export interface CeilingRate {
  readonly pairs: number;
  readonly pairsPerSecond: number;
}

const callers = 64;
const pairsEach = 50;
const amountNanoUsd = 200_000;

/** @param options.folder Files of objects with a ceiling. */
export async function measureCeiling(options: {
  folder: string;
  settings: Readonly<Record<string, string>>;
}): Promise<CeilingRate> {
  const door = (url: string) => `${url}/__books`;
  return withWorker({ ...options, entry: BOOKS_WORKER }, async ({ url }) => {
    await post(door(url), pairsOf(Date.now(), 1));
    const lists = pairsOf(Date.now(), pairsEach);
    const started = performance.now();
    await post(door(url), lists);
    const pairs = callers * pairsEach;
    return { pairs, pairsPerSecond: (pairs * 1_000) / (performance.now() - started) };
  });
}

/** Each caller's commands: an allowance is raised for a request and lowered to the request's use. */
function pairsOf(at: number, each: number): Step[][] {
  return Array.from({ length: callers }, (_, caller) => {
    const account = accountPartition(`0x${(caller + 1).toString(16).padStart(40, "0")}`);
    const day = windowStart("day", at);
    return Array.from({ length: each }, (_, pair): Step[] => {
      const [before, after] = [pair * amountNanoUsd, (pair + 1) * amountNanoUsd];
      const asks = { type: "allow", account, day, offer: null } as const;
      const raised = { usedNanoUsd: before, leastNanoUsd: before, neededNanoUsd: after, wantedNanoUsd: after };
      const lowered = { usedNanoUsd: after, leastNanoUsd: after, neededNanoUsd: after, wantedNanoUsd: after };
      // A second run has larger numbers.
      const askedAt = at + 2 * pair;
      return [
        { partition: ceilingPartition, command: { ...asks, ...raised, askedAt } },
        { partition: ceilingPartition, command: { ...asks, ...lowered, askedAt: askedAt + 1 } },
      ];
    }).flat();
  });
}
