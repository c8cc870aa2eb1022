/** `npm run bench:gas`: measures gas and prints the README's table: our operations next to the same work elsewhere. */
import { readFileSync } from "node:fs";
import { runForge } from "./forge.ts";

const TRANSFER = "Anchors: USDC: transfer to a holder";
const AUTHORIZED = "Anchors: USDC: transferWithAuthorization";
const SEND = "Anchors: LayerZero OFT: send";
/** The operation, our entry in snapshots/, the work elsewhere, and the entries that each number there sums up. */
type Row = readonly [operation: string, ours: string, elsewhere?: string, ...theirs: string[][]];

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
  ["x402 payment", "X402Door: settle", "USDC's transferWithAuthorization alone", [AUTHORIZED]],
  ["claim of an x402 payment", "X402Door: claim in a block of two transactions"],
  ["gas-less top-up", "GaslessTopUp: topUpWithAuthorization", "USDC's transferWithAuthorization alone", [AUTHORIZED]],
  ["pull of a standing order", "StandingOrders: pull", "USDC's transfer alone", [TRANSFER]],
  ["collect of an agent's position", "AgentFeeLocker: collect, with both releases"],
];

/** The rows of the README's table, by the last measured gas. */
export function gasRows(): string[][] {
  return ROWS.map(([operation, ours, elsewhere = "", ...theirs]) => {
    return [operation, sumOf([ours]), elsewhere, theirs.map(sumOf).join(" / ")];
  });
}

/** The last measured gas of an operation. Throws if it is not in the snapshots. */
export function gasOf(contract: string, entry: string): number {
  const snapshot: Record<string, string> = JSON.parse(
    readFileSync(new URL(`../snapshots/${contract}.json`, import.meta.url), "utf8"),
  );
  const gas = snapshot[entry];
  if (gas === undefined) throw new Error(`snapshots/${contract}.json has no "${entry}".`);
  return Number(gas);
}

function settlementOf(size: string): Row {
  const anchor = `Anchors: settle ${size} requests one by one`;
  return [`settle ${size} accounts`, `InferenceSettlement: settle ${size} accounts`, size, [anchor]];
}

/** An entry begins with its contract. */
function sumOf(entries: readonly string[]): string {
  return entries
    .map((entry) => /^(\w+): (.*)$/.exec(entry) ?? [])
    .reduce((gas, [, contract = "", entry = ""]) => gas + gasOf(contract, entry), 0)
    .toLocaleString("en-US");
}

if (import.meta.main) {
  process.env.FORGE_SNAPSHOT_CHECK = "false";
  process.exitCode = runForge(["test", "--match-contract", "GasTest"]);
  if (process.exitCode === 0)
    console.log(
      gasRows()
        .map((cells) => `| ${cells.join(" | ")} |`)
        .join("\n"),
    );
}
