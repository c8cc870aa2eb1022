import assert from "node:assert/strict";
import { test } from "node:test";
import type { Command } from "@inference/ledger/commands";
import { agentPartition, ceilingPartition, type Partition } from "@inference/ledger/partition";
import { reserveRequest } from "@inference/ledger/reservation";
import { account, chain, makeExample, noon } from "@inference/ledger/testing/example";
import type { Bindings } from "./bindings.ts";
import { makeEdgeLedger } from "./ledger.ts";

const agent = `0x${"a".repeat(40)}` as const;
const reservation = {
  ...{ id: "r1", at: noon, owner: account, amountNanoUsd: 10, leaseMs: 900_000, detail: "{}", chain },
  payer: { kind: "key", digest: "digest of key1" },
  offers: [{ agent, offer: "h1" }],
} as const;

/** The edge's ledger over partitions in memory, one of them unreachable. */
function openLedger(unreached: Partition) {
  const host = makeExample();
  const objectOf = (partition: Partition) => ({
    async execute(_: Partition, command: Command) {
      if (partition === unreached) throw new Error("out of service");
      return host.apply(partition, command);
    },
  });
  const PARTITION = { getByName: objectOf } as unknown as Bindings["PARTITION"];
  return { host, ledger: makeEdgeLedger({ PARTITION }, { background: () => undefined }) };
}

test("an agent whose object is out of service is passed over: the protocol serves the request, and holds it once", async () => {
  const { host, ledger } = openLedger(agentPartition(agent));
  const admission = await ledger.run(() => reserveRequest(reservation));
  assert.deepEqual([admission.status, "server" in admission ? admission.server : "none"], ["reserved", null]);
  assert.equal(host.rows(account).get("receipt", "r1")?.server, null);
});

test("a request whose ceiling is out of service fails, and is held nowhere", async () => {
  const { host, ledger } = openLedger(ceilingPartition);
  await assert.rejects(
    ledger.run(() => reserveRequest(reservation)),
    /out of service/,
  );
  assert.equal(host.rows(account).get("receipt", "r1")?.state, "released");
});
