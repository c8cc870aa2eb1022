import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { openBooks } from "./books.ts";
import { percentile, samples } from "./percentile.ts";

// A ledger that stays open and is loaded for a slice of time at each line of input. Arguments: a folder on a disk,
// accounts, past uses. Standard input: a SliceLoad a line. Standard output: `ready`, then a SliceResult for each.

export interface SliceLoad {
  /** A number of clients with one pair at a time each, or pairs that begin at a fixed rate. */
  readonly load: { readonly inFlight: number } | { readonly perSecond: number };
  readonly ms: number;
}

export interface SliceResult {
  readonly pairs: number;
  readonly pairsPerSecond: number;
  /** Processor time of a pair: of the serving thread, and of the whole process. Both include the clients. */
  readonly mainUs: number;
  readonly processUs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly rssMiB: number;
}

if (import.meta.main) {
  const [parent = "", accounts = "1000", pastUses = "0"] = process.argv.slice(2);
  const directory = mkdtempSync(join(parent, "ledger-slice-"));
  process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
  const books = await openBooks({
    file: join(directory, "books.sqlite"),
    secret: randomBytes(32),
    accounts: Number(accounts),
    pastUses: Number(pastUses),
  });
  await books.ledger.flush();
  const account = accountChooser(Number(accounts), 1);

  async function runSlice({ load, ms }: SliceLoad): Promise<SliceResult> {
    const latencies = samples();
    const [before, beforeMain, begin] = [process.cpuUsage(), process.threadCpuUsage(), performance.now()];
    const end = begin + ms;
    let pairs = 0;
    const pair = async (since: number) => {
      const { settle } = await books.reserve(account());
      await settle();
      latencies.add(performance.now() - since);
      pairs += 1;
    };
    if ("inFlight" in load) {
      const client = async () => {
        for (let now = begin; now < end; now = performance.now()) await pair(now);
      };
      await Promise.all(Array.from({ length: load.inFlight }, client));
    } else {
      const running: Promise<void>[] = [];
      const step = 1000 / load.perSecond;
      // A pair waits from its due time, so that a loop that stands still counts.
      for (let due = begin; due < end; due += step) {
        while (performance.now() < due) await sleep(1);
        running.push(pair(due));
      }
      await Promise.all(running);
    }
    const elapsed = performance.now() - begin;
    const [all, main] = [process.cpuUsage(before), process.threadCpuUsage(beforeMain)];
    const ascending = latencies.sorted();
    return {
      pairs,
      pairsPerSecond: (pairs / elapsed) * 1000,
      mainUs: (main.user + main.system) / pairs,
      processUs: (all.user + all.system) / pairs,
      p50Ms: percentile(ascending, 50),
      p99Ms: percentile(ascending, 99),
      rssMiB: process.memoryUsage.rss() / 2 ** 20,
    };
  }

  process.stdout.write("ready\n");
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await runSlice(JSON.parse(line) as SliceLoad))}\n`);
  }
  await books.close();
}

/** Uniform, and the same in every run. */
function accountChooser(accounts: number, seed: number): () => number {
  let state = seed + 1;
  // Lehmer's generator: the low bits of its neighbours are alike, so the first few are thrown away.
  const next = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state;
  };
  for (let skipped = 0; skipped < 8; skipped += 1) next();
  return () => next() % accounts;
}
