import { type HostileKindName, makeHostileKinds } from "./hostile-kinds.ts";
import { startNeighbourhood } from "./neighbourhood.ts";

/** Prints what each kind of hostile client costs a customer: `node table.ts [ms] [connections] [part of a kind's name]`. */
const [forMs = "5000", connections = "60", part = ""] = process.argv.slice(2);
const keys = { paying: "", revoked: "", unpaid: "", others: [""] };
const names = Object.keys(makeHostileKinds(keys, "http://a")) as HostileKindName[];
const neighbourhood = await startNeighbourhood({ receipts: 1_200 });
const options = { connections: Number(connections), forMs: Number(forMs) };
console.log(
  "| hostile clients | customer p50/p99 ms | not served | longest turn, processor/wall ms | peak MiB | their answers |",
);
console.log("|---|--:|--:|--:|--:|---|");
for (const name of [null, ...names.filter((name) => name.includes(part))]) {
  const { customer, hostile, longestStandstillMs, longestTurnMs, peakRssMib } = await neighbourhood.measure(
    name,
    options,
  );
  const answers = Object.entries(hostile).map(([status, count]) => `${count} x ${status}`);
  const cells = [
    name ?? "none",
    `${customer.p50Ms.toFixed(0)}/${customer.p99Ms.toFixed(0)}`,
    `${customer.failed.length} of ${customer.requests}`,
    `${longestTurnMs.toFixed(0)}/${longestStandstillMs.toFixed(0)}`,
    peakRssMib.toFixed(0),
    answers.join(", "),
  ];
  console.log(`| ${cells.join(" | ")} |`);
  if (customer.failed[0] !== undefined) console.error(customer.failed[0]);
}
await neighbourhood.stop();
process.exit(0);
