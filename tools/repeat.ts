import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { root } from "./test-plan.ts";

/**
 * `npm run test:repeat [-- RUNS]`: runs `npm test` ten times, every second time beside processes that keep all cores
 * busy, and prints one row for each run. Fails if a run failed.
 */
const runs = Number(process.argv[2] ?? 10);
if (!Number.isInteger(runs) || runs < 1) {
  console.error("The number of runs must be an integer from 1.");
  process.exit(2);
}

type Row = { run: number; cores: "busy" | "idle"; passed: boolean; seconds: number };

const children = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of children) child.kill();
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));

const rows: Row[] = [];
for (let run = 1; run <= runs; run++) {
  rows.push(await runOnce(run, run % 2 === 0));
  console.table(rows);
}
process.exitCode = rows.every(({ passed }) => passed) ? 0 : 1;

async function runOnce(run: number, isBusy: boolean): Promise<Row> {
  const startedAt = performance.now();
  const busy = isBusy ? Array.from({ length: availableParallelism() }, keepBusy) : [];
  const [code] = await once(start([join(root, "tools/test.ts")], "inherit"), "exit");
  for (const child of busy) child.kill();
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  return { run, cores: isBusy ? "busy" : "idle", passed: code === 0, seconds };
}

/** Ends by itself after an hour, also if this process was killed. */
function keepBusy(): ChildProcess {
  return start(["-e", "const until = Date.now() + 3_600_000; while (Date.now() < until);"], "ignore");
}

function start(args: string[], stdio: "inherit" | "ignore"): ChildProcess {
  const child = spawn(process.execPath, args, { cwd: root, stdio });
  children.add(child.once("exit", () => children.delete(child)));
  return child;
}
