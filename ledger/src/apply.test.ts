import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_NANO_USD } from "@inference/protocol/money";
import { apply } from "./apply.ts";
import type { Command } from "./commands.ts";
import { ceilingPartition } from "./partition.ts";
import { answer, type Query } from "./reads.ts";
import type { ReadRows } from "./tables.ts";
import {
  account,
  createKey,
  credit,
  follow,
  makeExample,
  noon,
  release,
  reserve,
  reserveCeiling,
  settle,
} from "./testing/example.ts";

const amounts: Record<string, (amount: number) => Command> = {
  reserve: (amount) => reserve("r2", amount),
  settle: (amount) => settle("r1", amount),
  loss: (amount) => ({ ...release("r1"), lossNanoUsd: amount }),
  checkpoint: (amount) => ({ type: "checkpoint", id: "r1", deliveredNanoUsd: amount, upstreamId: null }),
  credit: (amount) => credit("1:2", amount),
  limit: (amount) => ({ type: "updateKey", keyId: "key1", limitNanoUsd: amount }),
};

test("an amount that is none changes nothing, wherever it comes in", () => {
  const host = makeExample({ balance: 100 });
  host.apply(account, reserve("r1", 50));
  const before = JSON.stringify(host.all("counter"));
  for (const [name, command] of Object.entries(amounts)) {
    for (const amount of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, MAX_NANO_USD + 1]) {
      assert.throws(() => host.apply(account, command(amount)), { name: "MoneyError" }, `${name} ${amount}`);
    }
  }
  assert.equal(JSON.stringify(host.all("counter")), before);
});

test("a number that is none is not taken for none given: no limit, never revoked, never over", () => {
  const key = { ...createKey("key2"), nonce: "trap" };
  const traps: [partition: string, command: (value: unknown) => Command][] = [
    [ceilingPartition, (value) => ({ type: "setCeiling", limitNanoUsd: value as number })],
    [account, (value) => ({ type: "revokeKey", keyId: "key1", at: value as number })],
    [account, (value) => ({ ...key, expiresAt: value as number })],
    [account, (value) => ({ ...key, limitNanoUsd: value as number })],
  ];
  for (const [partition, command] of traps) {
    for (const value of [undefined, Number.NaN, 0.5, 2 ** 53, "7", 5n]) {
      const host = makeExample();
      const before = JSON.stringify([host.all("budget"), host.all("key"), host.all("nonce")]);
      assert.throws(() => host.apply(partition, command(value)), Error, `${command(value).type} ${value}`);
      assert.equal(JSON.stringify([host.all("budget"), host.all("key"), host.all("nonce")]), before);
    }
  }
});

test("what this version does not know is refused, and not answered with nothing", () => {
  const host = makeExample();
  assert.throws(() => host.apply(account, { type: "newer" } as unknown as Command), /no command newer/);
  const rows = host.rows(account) as unknown as ReadRows;
  assert.throws(() => answer(rows, { type: "newer" } as unknown as Query), /no question newer/);
});

test("a command is pure: it changes no row it was given, and answers the same again", () => {
  const host = makeExample();
  const rows = host.rows(account);
  const first = apply(account, rows, reserve("r1", 50), noon);
  assert.deepEqual(apply(account, rows, reserve("r1", 50), noon), first);
  assert.equal(rows.get("hold", "r1"), undefined);
});

test("a row is changed at most once by a command, also where it is written and then removed", () => {
  const host = makeExample();
  host.apply(account, reserve("r1", 50));
  host.apply(ceilingPartition, reserveCeiling("r1", 50));
  const settled = apply(account, host.rows(account), settle("r1", 5), noon);
  const followed = apply(ceilingPartition, host.rows(ceilingPartition), follow("r1", 5), noon);
  for (const { changes } of [settled, followed]) {
    const names = changes.map(({ table, id }) => `${table} ${id}`);
    assert.equal(new Set(names).size, names.length, String(names));
  }
});

test("a delivery stays until it is acknowledged", () => {
  const host = makeExample();
  host.apply(account, reserve("r1", 50));
  host.apply(account, release("r1"));
  const [delivery] = host.outbox();
  assert.ok(delivery !== undefined);
  host.deliver(delivery, { acknowledge: false });
  assert.equal(host.outbox().length, 1);
  host.deliver(delivery);
  assert.equal(host.outbox().length, 0);
  assert.equal(host.apply(account, { type: "acknowledge", id: delivery.row.id }).status, "acknowledged");
});
