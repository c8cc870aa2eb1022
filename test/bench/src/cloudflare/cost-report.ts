import { shown, table } from "../table.ts";
import type { CeilingRate } from "./ceiling-rate.ts";
import type { CostReading } from "./cost-bench.ts";
import { usdPerMillion } from "./prices.ts";

/** The use of one request and the price of a million, beyond the plan's included amounts. */
export function costReport({
  readings,
  ceiling,
}: {
  readonly readings: readonly CostReading[];
  readonly ceiling: CeilingRate;
}): string {
  const head = [
    "used by a request",
    "object requests",
    "rows written",
    "rows read",
    "object GB-s",
    "CPU ms",
    "KV reads",
    "KV writes",
    "$ a million requests",
  ];
  const lines = readings.map(({ scenario, perRequest: used, usdPerMillionRequests }) => [
    scenario,
    shown(used.objectRequests, 2),
    shown(used.rowsWritten, 2),
    shown(used.rowsRead, 1),
    shown(used.objectGbSeconds, 5),
    shown(used.cpuMs, 2),
    shown(used.keyValueReads, 2),
    shown(used.keyValueWrites, 2),
    shown(usdPerMillionRequests, 2),
  ]);
  const { workerRequests, objectRequests, rowsWritten, rowsRead, objectGbSeconds, cpuMs } = usdPerMillion;
  const prices = [objectRequests, rowsWritten, rowsRead, objectGbSeconds, cpuMs].map(String);
  const { keyValueReads, keyValueWrites } = usdPerMillion;
  lines.push(["$ for a million", ...prices, String(keyValueReads), String(keyValueWrites), `+ ${workerRequests}`]);
  const rate = `The ceiling's object: ${shown(ceiling.pairsPerSecond)} pairs of reserve and follow a second`;
  return `${table(head, lines)}\n\n${rate} (${shown(ceiling.pairs)} counted, by itself, on this machine).`;
}
