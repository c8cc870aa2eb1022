import { percentile, samples } from "./percentile.ts";

export interface ClosedLoop {
  readonly clients: number;
  readonly accounts: number;
  /** Under load but not counted. */
  readonly warmupSeconds: number;
  readonly seconds: number;
  pair(account: number): Promise<void>;
}

export interface ClosedLoopResult {
  readonly pairsPerSecond: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** Over the whole run, warm-up included: what processor time and fsyncs are divided by. */
  readonly allPairs: number;
}

/** Clients that each wait for their pair before they begin the next. The first pair that fails ends the run. */
export async function closedLoop(options: ClosedLoop): Promise<ClosedLoopResult> {
  const begin = performance.now() + options.warmupSeconds * 1000;
  const end = begin + options.seconds * 1000;
  const latencies = samples();
  let allPairs = 0;

  async function client(number: number): Promise<void> {
    const account = accountChooser(options.accounts, number);
    for (let started = performance.now(); started < end; started = performance.now()) {
      await options.pair(account());
      allPairs += 1;
      const now = performance.now();
      if (now >= begin && now < end) latencies.add(now - started);
    }
  }

  await Promise.all(Array.from({ length: options.clients }, (_, number) => client(number)));
  const ascending = latencies.sorted();
  return {
    pairsPerSecond: ascending.length / options.seconds,
    p50Ms: ascending.length === 0 ? null : percentile(ascending, 50),
    p99Ms: ascending.length === 0 ? null : percentile(ascending, 99),
    allPairs,
  };
}

/** Uniform, and the same in every run: the choice must not be what differs between two of them. */
export function accountChooser(accounts: number, seed: number): () => number {
  let state = seed + 1;
  // Lehmer's generator: the low bits of its neighbours are alike, so the first few are thrown away.
  const next = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state;
  };
  for (let skipped = 0; skipped < 8; skipped += 1) next();
  return () => next() % accounts;
}
