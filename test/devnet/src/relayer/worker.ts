import { setTimeout as sleep } from "node:timers/promises";
import { type Log, reasonOf } from "@inference/keeper/log";
import type { Chain } from "./chain.ts";
import { checkChain } from "./chain.ts";
import { follow } from "./follower.ts";
import type { Job, Store } from "./store.ts";

/**
 * Does what it can for a message. `ended` when what it is to bring about is there already, `waiting` when it is
 * another's turn. Throws what stands in the way; it is tried again.
 */
export type Work = (job: Job, destination: Chain) => Promise<"ended" | "waiting">;

export type WorkerOptions = {
  /** As the log calls it. */
  name: string;
  work: Work;
  store: Store;
  chains: readonly Chain[];
  pollMs: number;
  maxPauseMs: number;
  overdueMs: number;
  now(): number;
  log: Log;
};

export type Worker = {
  /** Lets what is under way come to its end. */
  stop(): Promise<void>;
};

/** Reads what all chains send and works on each message until it is done, for ever. */
export function startWorker(options: WorkerOptions): Worker {
  const { name, store, chains, pollMs, now } = options;
  const log: Log = (level, event, fields) => options.log(level, event, { worker: name, ...fields });
  const byEid = new Map(chains.map((chain) => [chain.settings.eid, chain]));
  const destinations = new Set(byEid.keys());
  const checked = new Set<Chain>();
  const offline = new Set<number>();
  const abort = new AbortController();

  async function read(chain: Chain): Promise<boolean> {
    const { eid } = chain.settings;
    try {
      if (!checked.has(chain)) await checkChain(chain);
      checked.add(chain);
      const more = await follow({ chain, store, destinations, now, log });
      if (offline.delete(eid)) log("info", "readable", { eid });
      return more;
    } catch (error) {
      if (!offline.has(eid)) log("alert", "unreadable", { eid, reason: reasonOf(error) });
      offline.add(eid);
      return false;
    }
  }

  async function run(): Promise<void> {
    while (!abort.signal.aborted) {
      const more = await Promise.all(chains.map(read));
      for (const job of store.due(now())) {
        if (abort.signal.aborted) return;
        const destination = byEid.get(job.packet.dstEid);
        if (destination !== undefined) await attempt({ ...options, log }, job, destination);
      }
      if (!more.includes(true)) await sleep(pollMs, undefined, { signal: abort.signal }).catch(() => {});
    }
  }

  const running = run().catch((error: unknown) => {
    // Its own store fails: nothing that it does would be remembered.
    log("alert", "broken", { reason: reasonOf(error) });
    throw error;
  });
  return {
    async stop() {
      abort.abort();
      await running;
    },
  };
}

/** One try. A message counts as done when what ended it has enough blocks upon it, too. */
async function attempt(options: WorkerOptions, job: Job, destination: Chain): Promise<void> {
  const { work, store, pollMs, maxPauseMs, overdueMs, now, log } = options;
  const { guid, srcEid, dstEid } = job.packet;
  const message = { guid, srcEid, dstEid };
  const pause = Math.min(maxPauseMs, pollMs * 2 ** Math.min(job.attempts, 20));
  let endedAtBlock: number | null = null;
  let attempts = job.attempts + 1;
  try {
    if ((await work(job, destination)) === "ended") {
      const head = Number(await destination.reader.getBlockNumber());
      endedAtBlock = job.endedAtBlock ?? head;
      if (job.endedAtBlock === null) {
        log("info", "ended", message);
        attempts = 0;
      }
      if (head >= endedAtBlock + destination.settings.confirmations) {
        store.done(job.id);
        return;
      }
    }
  } catch (error) {
    log("info", "failed", { ...message, attempts, reason: reasonOf(error) });
  }
  const ageMs = now() - job.seenAt;
  // Once in each such time, however often it is tried.
  if (endedAtBlock === null && Math.floor((ageMs + pause) / overdueMs) > Math.floor(ageMs / overdueMs)) {
    log("alert", "overdue", { ...message, ageSeconds: Math.round(ageMs / 1_000) });
  }
  store.later(job.id, { dueAt: now() + pause, attempts, endedAtBlock });
}
