import { rm } from "node:fs/promises";
import { countFsyncs, type FsyncCount } from "./fsyncs.ts";
import type { LedgerPlan, LedgerResult } from "./ledger-load.ts";
import type { LedgerTarget, Synchronous } from "./ledger-target.ts";
import { lineReader, startScript } from "./process.ts";
import { realDirectory } from "./real-directory.ts";

export interface LedgerScenario {
  readonly name: string;
  readonly clients: number;
  readonly accounts: number;
  readonly pastUses: number;
  readonly synchronous: Synchronous;
}

// At most 32 requests of one account may be in flight, so with one account there can be no more clients.
const flat = { clients: 32, accounts: 1_000, pastUses: 0, synchronous: "FULL" } as const;

export const ledgerScenarios: readonly LedgerScenario[] = [
  { ...flat, name: "256 clients, 1,000 accounts", clients: 256 },
  { ...flat, name: "32 clients, 1 account", accounts: 1 },
  { ...flat, name: "32 clients, 100,000 accounts", accounts: 100_000 },
  { ...flat, name: "32 clients, 0 past uses" },
  { ...flat, name: "32 clients, 1,000,000 past uses", pastUses: 1_000_000 },
];

/** Pairs of scenarios whose cost should not differ: from the first to the second. */
export const flatness: readonly (readonly [string, string])[] = [
  ["32 clients, 1 account", "32 clients, 100,000 accounts"],
  ["32 clients, 0 past uses", "32 clients, 1,000,000 past uses"],
];

export interface LedgerReading {
  readonly scenario: string;
  readonly target: string;
  readonly round: number;
  readonly result: LedgerResult;
  /** Null if nothing here could count them. */
  readonly fsyncs: FsyncCount | null;
  readonly fsyncsPerPair: number | null;
}

export interface LedgerBenchOptions {
  readonly targets: readonly LedgerTarget[];
  readonly scenarios: readonly LedgerScenario[];
  readonly rounds: number;
  readonly warmupSeconds: number;
  readonly seconds: number;
  say(line: string): void;
}

/** Every scenario on a new file, targets in turn within it, in every round. */
export async function ledgerBench(options: LedgerBenchOptions): Promise<LedgerReading[]> {
  const readings: LedgerReading[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    for (const scenario of options.scenarios) {
      for (const target of options.targets) {
        const reading = await measure(options, scenario, target.name, round);
        readings.push(reading);
        options.say(progress(reading));
      }
    }
  }
  return readings;
}

async function measure(
  options: LedgerBenchOptions,
  scenario: LedgerScenario,
  target: string,
  round: number,
): Promise<LedgerReading> {
  const directory = await realDirectory("ledger-");
  const plan: LedgerPlan = {
    ...scenario,
    target,
    directory,
    warmupSeconds: options.warmupSeconds,
    seconds: options.seconds,
  };
  const ledger = await startScript("./ledger-load.ts", [], { stdin: `${JSON.stringify(plan)}\n`, openStdin: true });
  try {
    const line = lineReader(ledger);
    await line();
    const counter = await countFsyncs(ledger.pid);
    ledger.child.stdin?.write("begin\n");
    let counting: Promise<FsyncCount | undefined> | undefined;
    // Also if the ledger fails: the tool that counts must end.
    const answer = await line().finally(() => {
      counting = counter.stop();
    });
    const fsyncs = (await counting) ?? null;
    const result = JSON.parse(answer) as LedgerResult;
    const perPair = fsyncs === null ? null : fsyncs.fsyncs / result.allPairs;
    return { scenario: scenario.name, target, round, result, fsyncs, fsyncsPerPair: perPair };
  } finally {
    ledger.child.stdin?.end();
    await ledger.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

function progress({ scenario, target, round, result, fsyncsPerPair }: LedgerReading): string {
  const synced = fsyncsPerPair === null ? "fsyncs not measured" : `${fsyncsPerPair.toFixed(4)} fsyncs a pair`;
  return `round ${round + 1}  ledger: ${scenario}  ${target}  ${Math.round(result.pairsPerSecond)} pairs/s  ${synced}`;
}
