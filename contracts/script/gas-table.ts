/** `npm run bench:gas`: measures gas and prints our operations next to the same operations with third-party code. */
import { readFileSync } from "node:fs";
import { runForge } from "./forge.ts";

/** Our operation (contract, entry) and its anchors, as the gas tests name them in snapshots/. */
const ROWS: readonly {
  readonly ours: readonly [contract: string, entry: string];
  readonly anchors: readonly string[];
}[] = [
  {
    ours: ["InferenceToken", "transfer to a holder"],
    anchors: ["OpenZeppelin: transfer to a holder", "Solady: transfer to a holder", "USDC: transfer to a holder"],
  },
  {
    ours: ["InferenceToken", "permit"],
    anchors: ["OpenZeppelin: permit", "Solady: permit", "USDC: permit"],
  },
  {
    ours: ["TokenMinter", "mint"],
    anchors: ["OpenZeppelin: mint by an owner", "Solady: mint by an owner", "USDC: mint by a minter"],
  },
  { ours: ["InferenceSettlement", "activate"], anchors: [] },
  { ours: ["TokenBridge", "activateOnBase"], anchors: ["LayerZero OFT: send"] },
  { ours: ["InferenceSettlement", "settle 1 accounts"], anchors: ["settle 1 requests one by one"] },
  { ours: ["InferenceSettlement", "settle 10 accounts"], anchors: ["settle 10 requests one by one"] },
  { ours: ["InferenceSettlement", "settle 50 accounts"], anchors: ["settle 50 requests one by one"] },
  { ours: ["InferenceSettlement", "settle 100 accounts"], anchors: ["settle 100 requests one by one"] },
  { ours: ["InferenceSettlement", "settle 1000 accounts"], anchors: [] },
  { ours: ["InferenceSettlement", "settle 1800 accounts"], anchors: [] },
  { ours: ["InferenceSettlement", "payProvider"], anchors: ["USDC: transfer to a holder"] },
  { ours: ["TokenBackingOutbox", "flush"], anchors: ["LayerZero OFT: send"] },
  { ours: ["AgentFeeConverter", "convert, with its swap"], anchors: [] },
];

/** The last measured gas of an operation. Throws if it is not in the snapshots. */
export function gasOf(contract: string, entry: string): number {
  const snapshot: Record<string, string> = JSON.parse(
    readFileSync(new URL(`../snapshots/${contract}.json`, import.meta.url), "utf8"),
  );
  const gas = snapshot[entry];
  if (gas === undefined) throw new Error(`snapshots/${contract}.json has no "${entry}".`);
  return Number(gas);
}

function printTable(): void {
  for (const { ours, anchors } of ROWS) {
    const gas = gasOf(...ours);
    console.log(`${ours.join(": ").padEnd(44)} ${gas.toLocaleString("en-US").padStart(10)}`);
    for (const anchor of anchors) {
      const theirs = gasOf("Anchors", anchor);
      const ratio = `ours is ${((gas / theirs) * 100).toFixed(1)} %`;
      console.log(`    ${anchor.padEnd(40)} ${theirs.toLocaleString("en-US").padStart(10)}   ${ratio}`);
    }
  }
}

if (import.meta.main) {
  process.env.FORGE_SNAPSHOT_CHECK = "false";
  process.exitCode = runForge(["test", "--match-contract", "GasTest"]);
  if (process.exitCode === 0) printTable();
}
