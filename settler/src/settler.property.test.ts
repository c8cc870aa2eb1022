import { test } from "node:test";
import fc from "fast-check";
import { playSchedule } from "./testing/play-schedule.ts";
import { type Schedule, schedules } from "./testing/schedule.ts";

const OPERATIONS = 60;
const numRuns = process.env.DEEP === "1" ? 1_000 : 20;

/**
 * A case that a deep run found: the chain is read again, the whole ledger put back to before that, and then an account
 * to after it. The account knew a later reading than the chain's partition, and heard no totals for ever.
 */
const knownLoss: Schedule = {
  start: { timeOfDay: 12 * 3_600_000 },
  operations: [
    { type: "poll", job: "watcher", happenings: [] },
    { type: "wait", ms: 1_000 },
    { type: "restoreChain" },
    { type: "use", account: 0, amount: 2 },
    { type: "poll", job: "watcher", happenings: [] },
    { type: "restoreAll", copy: 1 },
    { type: "use", account: 0, amount: 0 },
    { type: "restoreAccount", account: 0, copy: 0 },
    { type: "restoreAccount", account: 0, copy: 3 },
    { type: "poll", job: "watcher", happenings: [] },
  ],
};

for (const isLossy of [false, true]) {
  const law = fc.asyncProperty(schedules({ most: OPERATIONS, isLossy }), (schedule) =>
    playSchedule(schedule, { isLossy }),
  );
  const title = isLossy
    ? "whatever is restored or debited elsewhere, no use is charged twice, and the ledger equals the chain"
    : "whatever happens to jobs, chain and node, every use is charged once, and the ledger equals the chain";
  test(title, () => fc.assert(law, { numRuns, examples: isLossy ? [[knownLoss]] : [] }));
}
