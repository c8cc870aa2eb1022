import { parseArgs } from "node:util";
import { accountPartition, ceilingPartition, ceilingShard, type Partition } from "@inference/ledger/partition";
import { openMemoryHost } from "@inference/ledger/testing/memory-host";

/**
 * How often shards of the ceiling call the ceiling, by the ledger's own rules under a clock of ours: requests of
 * accounts that are used once in a while, so many a second, which hold ten times their charge for some seconds. The
 * day's ceiling is one and a half times what a day at this rate costs, and a part of it is used when this begins.
 */
const { values } = parseArgs({
  options: {
    shards: { type: "string", default: "4" },
    rate: { type: "string", default: "1000" },
    seconds: { type: "string", default: "180" },
    inFlightMs: { type: "string", default: "5000" },
    usedPercent: { type: "string", default: "0" },
  },
});
const [shards, rate, seconds] = [Number(values.shards), Number(values.rate), Number(values.seconds)];
const inFlightMs = Number(values.inFlightMs);
const [amountNanoUsd, chargeNanoUsd] = [20_000_000, 2_000_000];
const limitNanoUsd = rate * 86_400 * chargeNanoUsd * 1.5;
/** The first minute draws the first blocks. */
const WARM_MS = 60_000;
const LEASE_MS = 900_000;

const start = Date.UTC(2027, 5, 15, 6);
const clock = { now: start };
const host = openMemoryHost({ now: () => clock.now });
const calls = { root: 0, shard: 0, openBlock: 0, refused: 0 };
/** Owners' calls to the ceiling and its shards, counted once it is warm. */
function count(what: keyof typeof calls): void {
  if (clock.now >= start + WARM_MS) calls[what] += 1;
}

function deliverAll(): void {
  for (let left = host.outbox(); left.length > 0; left = host.outbox()) {
    // One call for each sender, as the edge makes them.
    for (const deliveries of Map.groupBy(left, ({ partition }) => partition).values()) {
      count("root");
      for (const delivery of deliveries) host.deliver(delivery);
    }
  }
}

function admit(id: string, shard: Partition, owner: Partition): boolean {
  const following = { id, at: clock.now, amountNanoUsd, leaseMs: LEASE_MS };
  count("shard");
  const reply = host.apply(shard, { type: "reserveCeiling", ...following, owner });
  if (reply.status !== "reserved" || reply.isCovered === true) return reply.status === "reserved";
  count("root");
  const { wantedNanoUsd, ownNanoUsd = 0 } = reply;
  const wants = wantedNanoUsd === undefined ? {} : { wantedNanoUsd };
  const root = host.apply(ceilingPartition, {
    type: "reserveCeiling",
    ...following,
    owner: shard,
    ownNanoUsd,
    ...wants,
  });
  if (root.status !== "reserved") {
    count("refused");
    end(id, shard, null);
    return false;
  }
  const { heldNanoUsd = 0, limitNanoUsd: limit = 0 } = root;
  if (heldNanoUsd <= amountNanoUsd) return true;
  count("openBlock");
  host.apply(shard, { type: "openBlock", id, amountNanoUsd: heldNanoUsd, limitNanoUsd: limit });
  return true;
}

function end(id: string, shard: Partition, charge: number | null): void {
  count("shard");
  host.apply(shard, { type: "follow", id, chargeNanoUsd: charge, admittedAt: clock.now });
}

host.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd });
const used = { type: "carry", id: "used", at: start } as const;
host.apply(ceilingPartition, { ...used, amountNanoUsd: Math.floor((limitNanoUsd * Number(values.usedPercent)) / 100) });
const open: { id: string; shard: Partition; endsAt: number }[] = [];
let made = 0;
for (clock.now = start; clock.now < start + WARM_MS + seconds * 1_000; clock.now += 10) {
  for (; made < ((clock.now - start) / 1_000) * rate; made += 1) {
    const id = `req_${String(made).padStart(12, "0")}`;
    const shard = ceilingShard(1 + (made % shards));
    const owner = accountPartition(`0x${made.toString(16).padStart(40, "0")}`);
    if (admit(id, shard, owner)) open.push({ id, shard, endsAt: clock.now + inFlightMs });
  }
  for (; (open[0]?.endsAt ?? Number.POSITIVE_INFINITY) <= clock.now; ) {
    const ended = open.shift();
    if (ended !== undefined) end(ended.id, ended.shard, chargeNanoUsd);
  }
  for (const { partition, row } of host.all("block")) {
    if (row.closesAt <= clock.now) host.apply(partition, { type: "closeBlock", id: row.drawnBy });
  }
  deliverAll();
}
const each = (n: number) => Math.round((n * 100) / seconds / shards) / 100;
console.log(
  `${shards} shards, ${rate} requests a second, ${values.usedPercent} % of the ceiling used: each shard is called ` +
    `${each(calls.shard)} times a second and calls the ceiling ${each(calls.root)} times, and ${each(calls.openBlock)} ` +
    `of these draw a block; ${calls.refused} requests were refused`,
);
