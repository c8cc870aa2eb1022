import { recordLeaf, type SettleRecord } from "@inference/protocol/chunk";
import { type Address, isAddress, lowerAddress } from "@inference/protocol/credential";
import { isRequestId } from "@inference/protocol/id";
import { type Keccak, makeMerkleRoot, verifyProof } from "@inference/protocol/merkle-tree";
import { type LeafOf, makeLeafOf, type SettledUse } from "@inference/protocol/use-leaf";
import { dayNumber } from "@inference/protocol/window";
import { bytesToHex, type Hex, hexToBytes } from "viem";
import type { BookedRecord, StatementUse } from "../spending.ts";
import type { Evidence } from "./evidence.ts";

/** A statement that was debited, perhaps in several records. */
export type Statement = {
  records: readonly BookedRecord[];
  beforeNanoUsd: number;
  /** The end of its last record. The statement may continue after a foreign debit. */
  paidToNanoUsd: number;
};

export type PaidStatement = Statement & {
  /** The uses whose leaves make its root; null: the listed uses do not. */
  uses: readonly StatementUse[] | null;
};

/** The other inputs of a check. */
export type Tools = {
  keccak: Keccak;
  /** The settlement's address that the judge of a bundle trusts. */
  own: Hex | undefined;
  /** Made once for all checks. */
  statements(): readonly PaidStatement[];
};

/** Records that follow each other and have one root are of one statement. */
export function statementsOf(records: readonly BookedRecord[]): Statement[] {
  const groups: BookedRecord[][] = [];
  for (const record of records) {
    if (groups.at(-1)?.[0]?.root === record.root) groups.at(-1)?.push(record);
    else groups.push([record]);
  }
  return groups.map((group) => ({
    ...{ records: group, beforeNanoUsd: group[0]?.before_nano_usd ?? 0, paidToNanoUsd: endOf(group.at(-1)) },
  }));
}

/** The debited statements, in order. Their roots are made anew from the uses. */
export function paidStatements({ said, contract, account }: Evidence, keccak: Keccak): PaidStatement[] {
  const leafOf = makeLeafOf({ chainId: contract.chainId, address: contract.address }, account, keccak);
  let first = 0;
  return statementsOf(said.records).map((statement) => {
    while ((said.uses[first]?.ends_at_nano_usd ?? Number.POSITIVE_INFINITY) <= statement.beforeNanoUsd) first += 1;
    const count = countUnder(statement, { leafOf, keccak, uses: said.uses, first });
    return { ...statement, uses: count === null ? null : said.uses.slice(first, first + count) };
  });
}

export function endOf(record: BookedRecord | undefined): number {
  return record === undefined ? 0 : record.before_nano_usd + record.amount_nano_usd;
}

export function startOf({ ends_at_nano_usd: end, charge_nano_usd: charge }: StatementUse): number {
  return end - charge;
}

type Leaves = { leafOf: LeafOf; keccak: Keccak; uses: readonly StatementUse[]; first: number };

/**
 * The number of uses that make the root. They follow each other from its beginning and fill its debits. Null: none do.
 */
function countUnder({ records, beforeNanoUsd, paidToNanoUsd }: Statement, { leafOf, keccak, uses, first }: Leaves) {
  const tree = makeMerkleRoot(keccak);
  let end = beforeNanoUsd;
  for (let at = first; at < uses.length; at++) {
    const use = uses[at] as StatementUse;
    if (at === first ? startOf(use) > end : startOf(use) !== end) return null;
    tree.add(leafOf(settledUseOf(use), beforeNanoUsd));
    end = use.ends_at_nano_usd;
    if (end >= paidToNanoUsd && bytesToHex(tree.root()) === records[0]?.root) return at + 1 - first;
  }
  return null;
}

/** The use in the form of its leaf. Throws if the id is not a receipt's. */
export function settledUseOf(use: StatementUse): SettledUse {
  const { id, served_by: by, offer, price_snapshot: snapshot } = use;
  if (!isRequestId(id)) throw new TypeError(`${id} is not the id of a receipt.`);
  return {
    ...{ receipt: id, endsAtNanoUsd: use.ends_at_nano_usd, costNanoUsd: use.charge_nano_usd, snapshot },
    dayServed: dayNumber(Date.parse(use.day_served)),
    agent: isAddress(by) && offer !== null ? { token: lowerAddress(by), offerHash: offer as Hex } : undefined,
  };
}

export function settleRecordOf(record: BookedRecord, account: Address): SettleRecord {
  return {
    ...{ account, beforeNanoUsd: record.before_nano_usd, amountNanoUsd: record.amount_nano_usd },
    root: record.root as Hex,
    parts: record.parts.map(({ agent, day, amount_nano_usd: amountNanoUsd }) => {
      return { agent: agent as Address, day: dayNumber(Date.parse(day)), amountNanoUsd };
    }),
  };
}

/** Whether the record is in its chunk. */
export function isInChunk(record: BookedRecord, account: Address, keccak: Keccak): boolean {
  const leaf = recordLeaf(settleRecordOf(record, account), keccak);
  const proof = record.proof.map((node) => hexToBytes(node as Hex));
  return verifyProof(hexToBytes(record.chunk.root as Hex), leaf, proof, keccak);
}
