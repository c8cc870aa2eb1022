import { loadavg } from "node:os";
import { type HostileKindName, makeHostileKinds } from "@inference/host-node/testing/neighbours/hostile-kinds";
import { type Harm, startNeighbourhood } from "@inference/host-node/testing/neighbours/neighbourhood";

/** The limit of a paying customer's wait beside hostile clients. */
const P99_MS = 250;
const noKeys = { paying: "", revoked: "", unpaid: "", others: [""] };
const names = Object.keys(makeHostileKinds(noKeys, "http://a")) as HostileKindName[];

type Options = { connections: number; forMs: number; only: readonly string[]; say(line: string): void };

/** Measures a paying customer beside hostile connections of each kind, one kind after the other. Prints a table. */
export async function neighboursBench({ connections, forMs, only, say }: Options): Promise<string> {
  const chosen = names.filter((name) => only.length === 0 || only.some((word) => name.toLowerCase().includes(word)));
  const load = loadavg()[0]?.toFixed(2);
  const neighbourhood = await startNeighbourhood({ receipts: 1_200 });
  const rows: string[] = [];
  let over = 0;
  try {
    for (const name of [null, ...chosen]) {
      const harm = await neighbourhood.measure(name, { connections, forMs });
      const row = rowOf(name, harm);
      say(row);
      rows.push(row);
      if (harm.customer.p99Ms > P99_MS || harm.customer.failed.length > 0) over += 1;
    }
  } finally {
    await neighbourhood.stop();
  }
  if (over > 0) process.exitCode = 1;
  return [
    `${connections} hostile connections of each kind, ${forMs / 1000} s each, load average before ${load}`,
    `| hostile clients | customer p50, ms | p99, ms (at most ${P99_MS}) | not served | longest turn, CPU ms | peak MiB | their answers |`,
    "|---|--:|--:|--:|--:|--:|---|",
    ...rows,
    over === 0 ? "Every kind is within the limit." : `${over} kinds are above the limit.`,
  ].join("\n");
}

function rowOf(name: string | null, { customer, hostile, longestTurnMs, peakRssMib }: Harm): string {
  const cells = [
    name ?? "none",
    customer.p50Ms.toFixed(0),
    customer.p99Ms.toFixed(0),
    `${customer.failed.length} of ${customer.requests}`,
    longestTurnMs.toFixed(0),
    peakRssMib.toFixed(0),
    Object.entries(hostile)
      .map(([status, count]) => `${count} x ${status}`)
      .join(", "),
  ];
  return `| ${cells.join(" | ")} |`;
}
