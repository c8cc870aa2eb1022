import { randomBytes } from "node:crypto";
import { accountPartition, ceilingPartition } from "@inference/ledger/partition";
import type { Step } from "@inference/ledger/saga";
import { makeRequestId } from "@inference/protocol/id";
import { post } from "./edge-books.ts";
import { BOOKS_WORKER, withWorker } from "./edge-gateway-target.ts";

/** What the one object that every prepaid request passes twice can do by itself. */
export interface CeilingRate {
  readonly pairs: number;
  readonly pairsPerSecond: number;
}

const callers = 64;
const pairsEach = 50;
const amountNanoUsd = 200_000;

/** @param options.folder Books with a ceiling in them. */
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

/** For each caller its holds, each taken and followed to its end. */
function pairsOf(at: number, each: number): Step[][] {
  return Array.from({ length: callers }, (_, caller) => {
    const owner = accountPartition(`0x${(caller + 1).toString(16).padStart(40, "0")}`);
    return Array.from({ length: each }, (): Step[] => {
      const id = makeRequestId(at, randomBytes(10));
      const hold = { type: "reserveCeiling", id, at, amountNanoUsd, leaseMs: 900_000, owner } as const;
      return [
        { partition: ceilingPartition, command: hold },
        { partition: ceilingPartition, command: { type: "follow", id, chargeNanoUsd: amountNanoUsd } },
      ];
    }).flat();
  });
}
