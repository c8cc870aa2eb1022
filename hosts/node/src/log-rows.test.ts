import assert from "node:assert/strict";
import { test } from "node:test";
import { columnsOf, tableNames } from "@inference/ledger/schema";

/** As they were when there was first a log. What comes later is added here, at the end of its line or of the list. */
const places = [
  ["budget", "window limitNanoUsd"],
  ["counter", "settledNanoUsd heldNanoUsd openHolds"],
  [
    "hold",
    "state owner amountNanoUsd chargeNanoUsd counters followers admittedAt leaseUntil deliveredNanoUsd upstreamId keyId fingerprint detail server offer",
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
  ["gathering", "gatheredTo batch openedAt firstUse lastUse"],
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
  ["block", "drawnBy drawnAt amountNanoUsd closesAt"],
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
