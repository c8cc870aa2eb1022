import { deepEqual } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gasOf } from "./gas-table.ts";

const TRANSFER = "Anchors: USDC: transfer to a holder";
const SEND = "Anchors: LayerZero OFT: send";
/** The operation, our entry in snapshots/, what it is compared with, and the entries that each number there sums up. */
type Row = readonly [operation: string, ours: string, elsewhere?: string, ...theirs: string[][]];

/** As in the README. */
const ROWS: readonly Row[] = [
  [
    "transfer to a holder",
    "InferenceToken: transfer to a holder",
    "OpenZeppelin / Solady / USDC",
    ["Anchors: OpenZeppelin: transfer to a holder"],
    ["Anchors: Solady: transfer to a holder"],
    [TRANSFER],
  ],
  [
    "permit",
    "InferenceToken: permit",
    "OpenZeppelin / Solady / USDC",
    ["Anchors: OpenZeppelin: permit"],
    ["Anchors: Solady: permit"],
    ["Anchors: USDC: permit"],
  ],
  [
    "mint",
    "TokenMinter: mint",
    "USDC's transfer and OpenZeppelin's mint, two transactions",
    [TRANSFER, "Anchors: OpenZeppelin: mint by an owner"],
  ],
  ["activate", "InferenceSettlement: activate"],
  [
    "mint and activate in one",
    "TokenMinter: mintAndActivate",
    "mint, then activate",
    ["TokenMinter: mint", "InferenceSettlement: activate"],
  ],
  ["activateOnBase", "TokenBridge: activateOnBase", "LayerZero's OFT, `send`", [SEND]],
  [
    "settle 1 account",
    "InferenceSettlement: settle 1 accounts",
    "a settlement for each request, 1",
    ["Anchors: settle 1 requests one by one"],
  ],
  settlementOf("10"),
  settlementOf("50"),
  settlementOf("100"),
  ["settle 1,000 accounts", "InferenceSettlement: settle 1000 accounts"],
  ["settle 1,800 accounts", "InferenceSettlement: settle 1800 accounts"],
  ["payProvider", "InferenceSettlement: payProvider", "USDC's transfer alone", [TRANSFER]],
  ["payBack", "InferenceSettlement: payBack"],
  ["flush", "TokenBackingOutbox: flush", "LayerZero's OFT, `send`, and USDC's transfer", [SEND, TRANSFER]],
  ["book", "TokenMinter: book"],
  ["convert, with its swap", "AgentFeeConverter: convert, with its swap"],
];

test("every figure in the README's table is in the snapshots", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const [, table = ""] = /^\| operation .*\n\|[-:| ]+\|\n((?:\|.*\n)+)/m.exec(readme) ?? [];
  const cells = (row: string) => row.split("|").slice(1, -1);
  deepEqual(
    table
      .trimEnd()
      .split("\n")
      .map((row) => cells(row).map((cell) => cell.trim())),
    ROWS.map(([operation, ours, elsewhere = "", ...theirs]) => {
      return [operation, sumOf([ours]), elsewhere, theirs.map(sumOf).join(" / ")];
    }),
  );
});

function settlementOf(size: string): Row {
  const anchor = `Anchors: settle ${size} requests one by one`;
  return [`settle ${size} accounts`, `InferenceSettlement: settle ${size} accounts`, size, [anchor]];
}

/** In the table's format. An entry begins with its contract. */
function sumOf(entries: readonly string[]): string {
  return entries
    .map((entry) => /^(\w+): (.*)$/.exec(entry) ?? [])
    .reduce((gas, [, contract = "", entry = ""]) => gas + gasOf(contract, entry), 0)
    .toLocaleString("en-US");
}
