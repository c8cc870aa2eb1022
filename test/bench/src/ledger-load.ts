import { createInterface } from "node:readline";
import { type ClosedLoopResult, closedLoop } from "./closed-loop.ts";
import type { LedgerOptions } from "./ledger-target.ts";
import { ledgerTargets } from "./ledger-targets.ts";

// A ledger and its clients, a process of their own. Standard input: a LedgerPlan; any line, to begin; its end, to
// close. Standard output: `ready`, then a LedgerResult. The steps let somebody count fsyncs of the run alone.

export interface LedgerPlan extends LedgerOptions {
  readonly target: string;
  readonly clients: number;
  readonly warmupSeconds: number;
  readonly seconds: number;
}

export interface LedgerResult extends ClosedLoopResult {
  readonly openSeconds: number;
  /** Of the whole process, clients included. */
  readonly cpuUsPerPair: number;
}

if (import.meta.main) {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const plan = JSON.parse((await lines.next()).value ?? "") as LedgerPlan;
  const target = ledgerTargets.find(({ name }) => name === plan.target);
  if (target === undefined) throw new Error(`no ledger called ${plan.target}`);

  const opening = performance.now();
  const ledger = await target.open(plan);
  const openSeconds = (performance.now() - opening) / 1000;
  process.stdout.write("ready\n");
  await lines.next();

  const before = process.cpuUsage();
  const result = await closedLoop({ ...plan, pair: (account) => ledger.pair(account) });
  const { user, system } = process.cpuUsage(before);
  const answer: LedgerResult = { ...result, openSeconds, cpuUsPerPair: (user + system) / result.allPairs };
  process.stdout.write(`${JSON.stringify(answer)}\n`);

  await lines.next();
  await ledger.close();
}
