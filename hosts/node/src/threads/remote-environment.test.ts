import assert from "node:assert/strict";
import { test } from "node:test";
import { LedgerUnavailable } from "@inference/ledger/client";
import type { Command } from "@inference/ledger/commands";
import { ceilingPartition, type Partition } from "@inference/ledger/partition";
import { reserveRequest } from "@inference/ledger/reservation";
import { account, makeExample, noon } from "@inference/ledger/testing/example";
import type { Channel } from "./channel.ts";
import { remoteEnvironment } from "./remote-environment.ts";

test("a saga of several steps undoes what it did if a step fails in the other thread", async () => {
  const host = makeExample();
  const asked: string[] = [];
  const channel = {
    async call(_: string, partition: Partition, command: Command) {
      asked.push(command.type);
      if (partition === ceilingPartition) throw new LedgerUnavailable("the disk is full");
      return host.apply(partition, command);
    },
  } as unknown as Channel;
  const { ledger } = remoteEnvironment(channel, () => assert.fail("nothing asks for the standing"));
  const payer = { kind: "key", digest: "digest of key1" } as const;
  const reservation = { id: "r1", at: noon, owner: account, payer, amountNanoUsd: 10, leaseMs: 900_000, detail: "{}" };
  await assert.rejects(
    ledger.run(() => reserveRequest(reservation)),
    LedgerUnavailable,
  );
  assert.deepEqual(asked, ["reserve", "reserveCeiling", "inquire", "release"]);
  assert.equal(host.rows(account).get("hold", "r1")?.state, "released");
});
