import { type ChildProcess, spawn, spawnSync } from "node:child_process";
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

const busy = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of busy) child.kill();
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));

const rows = Array.from({ length: runs }, (_, index) => runOnce(index + 1, index % 2 === 1));
console.table(rows);
process.exitCode = rows.every(({ passed }) => passed) ? 0 : 1;

function runOnce(run: number, isBusy: boolean): { run: number; cores: string; passed: boolean; seconds: number } {
  if (isBusy) for (let core = 0; core < availableParallelism(); core++) keepBusy();
  const startedAt = performance.now();
  const { status } = spawnSync(process.execPath, [join(root, "tools/test.ts")], { cwd: root, stdio: "inherit" });
  for (const child of busy) child.kill();
  busy.clear();
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  return { run, cores: isBusy ? "busy" : "idle", passed: status === 0, seconds };
}

/** Ends by itself after an hour, also if this process was killed. */
function keepBusy(): void {
  const program = "const until = Date.now() + 3_600_000; while (Date.now() < until);";
  busy.add(spawn(process.execPath, ["-e", program], { stdio: "ignore" }));
}
