import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_NANO_USD } from "@inference/protocol/money";
import type { ReadRows } from "../rows/tables.ts";
import { account, admit, createKey, hear, makeExample, noon, release, reserve, settle } from "../testing/example.ts";
import { apply } from "./apply.ts";
import type { Command } from "./commands.ts";
import { ceilingPartition } from "./partition.ts";
import { answer, type Query } from "./reads.ts";

const amounts: Record<string, (amount: number) => Command> = {
  reserve: (amount) => reserve("r2", amount),
  settle: (amount) => settle("r1", amount),
  loss: (amount) => ({ ...release("r1"), lossNanoUsd: amount }),
  checkpoint: (amount) => ({ type: "checkpoint", id: "r1", deliveredNanoUsd: amount, upstreamId: null }),
  hear: (amount) => hear(amount),
  limit: (amount) => ({ type: "updateKey", keyId: "key1", limitNanoUsd: amount }),
};

test("an amount that is none changes nothing, wherever it comes in", () => {
  const host = makeExample({ balance: 100 });
  admit(host, account, reserve("r1", 50));
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

test("an unknown command or query is refused, and not answered with nothing", () => {
  const host = makeExample();
  assert.throws(() => host.apply(account, { type: "newer" } as unknown as Command), /no command newer/);
  const rows = host.rows(account) as unknown as ReadRows;
  assert.throws(() => answer(rows, { type: "newer" } as unknown as Query), /no question newer/);
});

test("a command is pure: it changes no row it was given, and answers the same again", () => {
  const host = makeExample();
  const rows = host.rows(account);
  const state = { clockMs: noon, epoch: 1 };
  const first = apply(account, rows, reserve("r1", 0), state);
  assert.deepEqual(apply(account, rows, reserve("r1", 0), state), first);
  assert.equal(rows.get("receipt", "r1"), undefined);
});

test("a row is changed at most once by a command, also where it is written and then removed", () => {
  const host = makeExample();
  admit(host, account, reserve("r1", 50));
  const { changes } = apply(account, host.rows(account), settle("r1", 5), { clockMs: noon, epoch: 1 });
  const names = changes.map(({ table, id }) => `${table} ${id}`);
  assert.equal(new Set(names).size, names.length, String(names));
});

/** The rows that a prepaid request writes: those of its reserve, with the ceiling's, and those of its settle. */
function rowsOfPair(inPieces: boolean): number[] {
  const host = makeExample();
  const terms = inPieces ? ({ inPieces: true } as const) : {};
  const pair = (id: string) => {
    admit(host, account, reserve(id, 50, terms));
    host.apply(account, settle(id, 25));
    host.deliverAll();
  };
  const written = (act: () => void) => {
    const before = new Map(host.stored());
    act();
    return [...host.stored()].filter(([name, text]) => before.get(name) !== text).length;
  };
  for (const id of ["r1", "r2", "r3"]) pair(id);
  const reserved = written(() => admit(host, account, reserve("r4", 25, terms)));
  const settled = written(() => {
    host.apply(account, settle("r4", 25));
    host.deliverAll();
  });
  return [reserved, settled];
}

test("a pair of reserve and settle writes 12 rows with an exact ceiling, and 7 with one that is taken in pieces", () => {
  assert.deepEqual(rowsOfPair(false), [4, 8]);
  assert.deepEqual(rowsOfPair(true), [1, 6]);
});

test("a delivery stays until it is acknowledged", () => {
  const host = makeExample();
  admit(host, account, reserve("r1", 50));
  host.apply(account, release("r1"));
  const [delivery] = host.outbox();
  assert.ok(delivery !== undefined);
  host.deliver(delivery, { acknowledge: false });
  assert.equal(host.outbox().length, 1);
  host.deliver(delivery);
  assert.equal(host.outbox().length, 0);
  assert.equal(host.apply(account, { type: "acknowledge", id: delivery.row.id }).status, "acknowledged");
});
