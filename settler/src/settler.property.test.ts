import { test } from "node:test";
import fc from "fast-check";
import { playSchedule } from "./testing/play-schedule.ts";
import { schedules } from "./testing/schedule.ts";

const OPERATIONS = 60;
const numRuns = process.env.DEEP === "1" ? 1_000 : 20;

for (const isLossy of [false, true]) {
  const law = fc.asyncProperty(schedules({ most: OPERATIONS, isLossy }), (schedule) =>
    playSchedule(schedule, { isLossy }),
  );
  const title = isLossy
    ? "whatever is restored or debited elsewhere, no use is charged twice, and the ledger equals the chain"
    : "whatever happens to jobs, chain and node, every use is charged once, and the ledger equals the chain";
  test(title, () => fc.assert(law, { numRuns }));
}
