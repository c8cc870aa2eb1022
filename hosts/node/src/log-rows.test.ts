import assert from "node:assert/strict";
import { test } from "node:test";
import { columnsOf, tableNames } from "@inference/ledger/schema";
import type { CounterRow, ReceiptRow } from "@inference/ledger/tables";
import { RecordWriter, readRows } from "./log-rows.ts";

/** As they were when there was first a log. What comes later is added here, at the end of its line or of the list. */
const places = [
  ["budget", "window limitNanoUsd"],
  ["counter", "settledNanoUsd heldNanoUsd openHolds"],
  [
    "hold",
    "state owner amountNanoUsd chargeNanoUsd counters followers admittedAt leaseUntil deliveredNanoUsd upstreamId keyId fingerprint detail server offer ceiling",
  ],
  ["key", "name label digest window limitNanoUsd disabled revokedAt expiresAt createdAt nonce unpaidUntil"],
  ["secret", "keyId"],
  ["account", "keys createdAt"],
  ["nonce", "expiresAt digest"],
  ["claim", "requestId fingerprint expiresAt"],
  ["session", "address agentToken createdAt expiresAt revokedAt"],
  ["credit", "amountNanoUsd creditedAt detail"],
  ["receipt", "admittedAt resolvedAt outcome chargeNanoUsd heldNanoUsd lossNanoUsd keyId detail"],
  ["total", "requests chargeNanoUsd promptTokens completionTokens"],
  ["use", "account chargeNanoUsd admittedAt server batch offer setAside"],
  ["outbox", "target command"],
  ["cursor", "block blockHash lastActivationId totalActivated lastBatchId totalDebitedNanoUsd foreignBatch"],
  ["gathering", "gatheredTo batch openedAt firstUse lastUse shards"],
  [
    "batch",
    "state journal openedAt root uses amountNanoUsd firstUse lastUse transactions settledBy block settledAt entries",
  ],
  ["transaction", "hash raw nonce maxFeePerGasWei day signedAt"],
  ["posted", "origin day root amountNanoUsd paidAfterNanoUsd totalDebitedNanoUsd block hash"],
  ["onchain", "creditNanoUsd"],
  ["debit", "amountNanoUsd debitedAt detail"],
  ["offer", "hash day shareBps nonce since computer owner endedAt"],
  ["reconciliation", "at closedAt unexplainedNanoUsd detail"],
  ["block", "drawnBy drawnAt amountNanoUsd closesAt ceiling"],
];

test("tables and columns keep their places, by which rows in a log of an earlier version name them", () => {
  const now = tableNames.map((table) => [
    table,
    columnsOf(table)
      .map(({ property }) => property)
      .join(" "),
  ]);
  assert.deepEqual(now, places);
});

const counter = (id: string, settledNanoUsd: number): CounterRow => ({
  id,
  settledNanoUsd,
  heldNanoUsd: 2 ** 28,
  openHolds: 127,
});
const receipt = (detail: string, keyId: string | null): ReceiptRow => ({
  id: "r",
  admittedAt: 1,
  resolvedAt: 2,
  outcome: "",
  chargeNanoUsd: 3,
  heldNanoUsd: 4,
  lossNanoUsd: 5,
  keyId,
  detail,
});

test("rows are read as they were written, whatever their numbers and texts", () => {
  const writer = new RecordWriter();
  const texts = ["", "plain", "\u00e9\u20ac\u{1f600}", "\u20ac".repeat(100_000)];
  const numbers = [0, 1, 126, 127, 128, 2 ** 28 - 1, 2 ** 31, 2 ** 35 + 1, 1_790_000_000_000, Number.MAX_SAFE_INTEGER];
  for (const _record of [1, 2]) {
    for (const text of texts) writer.add("account:a", "receipt", "r", receipt(text, null));
    for (const number of numbers) writer.add("ceiling", "counter", `c${number}`, counter(`c${number}`, number));
    writer.add("account:\u00e9", "receipt", "r", receipt("last", "key"));
    writer.add("account:\u00e9", "hold", "gone", null);
    assert.deepEqual(
      [...readRows(writer.finish())],
      [
        ...texts.map((text) => receiptRow("account:a", [1, 2, "", 3, 4, 5, null, text])),
        ...numbers.map((number) => ({
          table: tableNames.indexOf("counter"),
          partition: "ceiling",
          id: `c${number}`,
          columns: [number, 2 ** 28, 127],
        })),
        receiptRow("account:\u00e9", [1, 2, "", 3, 4, 5, "key", "last"]),
        { table: tableNames.indexOf("hold"), partition: "account:\u00e9", id: "gone", columns: null },
      ],
    );
  }
});

test("a record with more rows than were expected is written whole", () => {
  const writer = new RecordWriter();
  for (let n = 0; n < 20_000; n += 1) writer.add(`account:${n}`, "counter", `c${n}`, counter(`c${n}`, n));
  const rows = [...readRows(writer.finish())];
  assert.equal(rows.length, 20_000);
  assert.deepEqual(rows[19_999], {
    table: 1,
    partition: "account:19999",
    id: "c19999",
    columns: [19_999, 2 ** 28, 127],
  });
});

function receiptRow(partition: string, columns: (string | number | null)[]) {
  return { table: tableNames.indexOf("receipt"), partition, id: "r", columns };
}
