import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { Status } from "../gateway.ts";
import { reservesOf } from "./reserves.ts";

type Books = NonNullable<Status["books"]>;
type Secondary = Books["chains"][number];

/** The primary chain, with a line of 60 for the secondary one. */
const primary = { backing: 100, supply: 30, credit: 9, owed: 1, lines: 60 };
/** 70 tokens and 5 on their way, 2 gifted: a line of 60, an outbox of 10, and 7 sent that are not booked. */
const secondary = { supply: 70, in_flight: 5, gifted: 2, line: 60, outbox: 10, flushed: 50, booked: 43 };

function booksOf(one: Partial<typeof primary>, other: Partial<typeof secondary> | null, addsUp: boolean | null) {
  const nano = (amounts: object) => Object.entries(amounts).map(([name, value]) => [`${name}_nano_usd`, value]);
  const unread = Object.fromEntries(Object.keys(secondary).map((name) => [name, null]));
  const chain = {
    chain_id: 2,
    known: other !== null,
    ...Object.fromEntries(nano(other === null ? unread : { ...secondary, ...other })),
  };
  return {
    ...Object.fromEntries(nano({ ...primary, ...one })),
    chains: [chain as Secondary],
    adds_up: addsUp,
  } as Books;
}

test("books that add up on each chain give one equation whose lines come to its totals", () => {
  const { held, claims, heldNanoUsd, claimedNanoUsd, matches } = reservesOf(booksOf({}, {}, true), 1);
  deepEqual([heldNanoUsd, claimedNanoUsd, matches], [117n, 117n, true]);
  for (const [lines, total] of [
    [held, 117n],
    [claims, 117n],
  ] as const) {
    equal(
      lines.reduce((sum, { nanoUsd }) => sum + (nanoUsd ?? 0n), 0n),
      total,
    );
  }
});

test("a missing nano-dollar on any chain is the difference of the totals, and no match", () => {
  for (const books of [
    booksOf({ backing: 99 }, {}, true),
    booksOf({}, { outbox: 9 }, true),
    booksOf({}, { supply: 71 }, null),
  ]) {
    const { heldNanoUsd, claimedNanoUsd, matches } = reservesOf(books, 1);
    deepEqual([(claimedNanoUsd ?? 0n) - (heldNanoUsd ?? 0n), matches], [1n, false]);
  }
});

test("dollars that the primary chain has booked already are not in an outbox that was read before", () => {
  const { held, matches } = reservesOf(booksOf({}, { outbox: 20, booked: 53 }, true), 1);
  deepEqual([held.map(({ nanoUsd }) => nanoUsd), matches], [[100n, 17n], true]);
});

test("dollars booked for tokens that are newer than the reading are a claim, and no outbox is below zero", () => {
  const { held, claims, claimedNanoUsd, matches } = reservesOf(
    booksOf({ backing: 125, lines: 85 }, { line: 85, booked: 68 }, true),
    1,
  );
  deepEqual([held.map(({ nanoUsd }) => nanoUsd), claimedNanoUsd, matches], [[125n, 0n], 125n, true]);
  deepEqual(claims.at(-1), { title: "Newer than the reading", chainId: 2, nanoUsd: 8n });
});

test("a line that no listed chain has stays a claim", () => {
  const { claims, matches } = reservesOf(booksOf({ backing: 103, lines: 63 }, {}, true), 1);
  deepEqual([claims.at(-1)?.nanoUsd, matches], [3n, true]);
});

test("a line that was read after the sum of lines and has grown is held, and no claim is below zero", () => {
  const { held, claims, heldNanoUsd, matches } = reservesOf(booksOf({}, { line: 64, booked: 47 }, true), 1);
  deepEqual([heldNanoUsd, matches, held.at(-1)?.nanoUsd], [117n, true, 4n]);
  equal(
    claims.every(({ nanoUsd }) => (nanoUsd ?? 0n) >= 0n),
    true,
  );
});

test("a chain that was not read leaves no total and no verdict, and the gateway's own false stays false", () => {
  const unread = reservesOf(booksOf({}, null, null), 1);
  deepEqual([unread.heldNanoUsd, unread.claimedNanoUsd, unread.matches], [null, null, null]);
  equal(reservesOf(booksOf({ backing: 99 }, null, false), 1).matches, false);
  equal(reservesOf(booksOf({}, {}, false), 1).matches, false);
});
