import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Command } from "@inference/ledger/commands";
import { accountPartition, ceilingPartition, chainPartition } from "@inference/ledger/partition";
import { columnsOf, tableNames } from "@inference/ledger/schema";
import { hear } from "@inference/ledger/testing/example";
import { MAX_NANO_USD } from "@inference/protocol/money";
import { windowStart } from "@inference/protocol/window";
import { type Edge, startEdge } from "./testing/edge.ts";
import type { Attempt } from "./testing/numbers-worker.ts";

/** The traps that SQLite lays for numbers, as an object's own SQLite lays them. */
let edge: Edge;
before(async () => {
  edge = await startEdge({}, { entry: new URL("testing/numbers-worker.ts", import.meta.url) });
});
after(() => edge?.stop());

const account = accountPartition("0x00000000000000000000000000000000000000f1");
const TRAPS = 15;

test("every column of a number takes whole ones up to 2^53 exactly, and nothing else", async () => {
  const numbers = tableNames.flatMap((table) => columnsOf(table).filter(({ kind }) => /^(amount|integer)/.test(kind)));
  const attempts = (await edge.object(account, "tryRows", account)) as Attempt[];
  assert.equal(attempts.length, numbers.length * (TRAPS + 2));
  for (const { column, name, error, stored } of attempts) {
    const what = `${column}: ${name}: ${error}`;
    if (name === "seven") assert.deepEqual([error, stored], [null, 7], what);
    else if (name === "2^53 - 1" && stored !== null) assert.equal(stored, Number.MAX_SAFE_INTEGER, what);
    else assert.deepEqual([error !== null, stored], [true, null], what);
  }
  const isTaken = ({ name, stored }: Attempt): boolean => name === "2^53 - 1" && stored !== null;
  const whole = numbers.filter(({ kind }) => kind.startsWith("integer") || MAX_NANO_USD === Number.MAX_SAFE_INTEGER);
  assert.equal(attempts.filter(isTaken).length, whole.length);
});

/** Each refuses its every number that is none. */
const day = windowStart("day", Date.now());
const sums = { usedNanoUsd: 1, leastNanoUsd: 1, neededNanoUsd: 1, wantedNanoUsd: 1 };
const commands: [partition: string, command: Command, properties: string[]][] = [
  [ceilingPartition, { type: "setCeiling", limitNanoUsd: 1 }, ["limitNanoUsd"]],
  [account, hear(1), ["activatedNanoUsd", "debitedNanoUsd"]],
  [ceilingPartition, { type: "allow", account, day, askedAt: 1, ...sums, offer: null }, ["usedNanoUsd"]],
  [account, { type: "setCapacity", at: 1, limitNanoUsd: 1 }, ["limitNanoUsd"]],
  [account, { type: "consumeNonce", at: 1, nonce: "trap", expiresAt: 1, digest: "session" }, ["expiresAt"]],
  [chainPartition(1), { type: "advance", at: 1, block: 1, blockHash: "0x", activations: [], chunks: [] }, ["block"]],
];
for (const [partition, command, properties] of commands) {
  for (const property of properties) {
    test(`${command.type} with a ${property} that is no number changes nothing`, async () => {
      const body = JSON.stringify({ partition, command, property });
      const answers = await (await fetch(`${edge.url}/__numbers`, { method: "POST", body })).json();
      const all = Object.entries(answers as Record<string, string>);
      assert.equal(all.length, TRAPS);
      // A reply that says so is a refusal as well.
      const taken = all.filter(([, answer]) => !/Error|"clock_skew"|"gap"/.test(answer));
      assert.deepEqual(taken, []);
    });
  }
}
