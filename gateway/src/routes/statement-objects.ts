import { chainPartition, type Partition } from "@inference/ledger/partition";
import type { BillView, PlacedRecord, PlacedUse } from "@inference/ledger/reads";
import { settledUse } from "@inference/ledger/settled-use";
import type { ReceiptRow, UseRow } from "@inference/ledger/tables";
import type { ServedPart } from "@inference/protocol/chunk";
import type { Address } from "@inference/protocol/credential";
import { merkleTree, pureKeccak } from "@inference/protocol/merkle-tree";
import { formatUsd, type NanoUsd } from "@inference/protocol/money";
import { type LeafOf, makeLeafOf } from "@inference/protocol/use-leaf";
import { DAY_MS, utcDay } from "@inference/protocol/window";
import { bytesToHex } from "viem";
import type { Gateway } from "../gateway.ts";
import { amounts } from "../http/money.ts";

/**
 * An account's statements, records and uses, as its owner sees them. Each answer reads rows of the account alone.
 * Only a small statement's tree is built for one.
 */
export type Owner = { account: Address; partition: Partition };

/** The largest statement whose tree is built for the proof of one use: 5 ms of processor time at most. */
const MAX_PROVEN_USES = 64;

/** The account's records that end above a position, and its amounts that are not final. */
export async function statementsOf(
  { config, environment, freeWork }: Gateway,
  { account, partition }: Owner,
  { afterNanoUsd, limit }: { afterNanoUsd: NanoUsd; limit: number },
) {
  const { ledger } = environment;
  const chain = chainPartition(config.settlement.chainId);
  const [bill, page] = await Promise.all([
    ledger.read(partition, { type: "bill" }),
    freeWork
      .wait(partition)
      .then(() => ledger.read(chain, { type: "records", account, afterNanoUsd, limit: limit + 1 })),
  ]);
  const records = page.slice(0, limit);
  const open = bill.open === null ? null : { ...statementObject(bill.open), status: await statusOf() };
  const { open: sealed, settledNanoUsd, baseNanoUsd, debitedNanoUsd } = bill;
  const oldestAt = sealed?.oldestAt ?? bill.oldestAt;
  return {
    data: {
      account,
      ...amounts({ debited: debitedNanoUsd }),
      records: records.map(recordObject),
      open,
      ...amounts({ unsealed: settledNanoUsd - (sealed?.afterNanoUsd ?? baseNanoUsd) }),
      oldest_at: oldestAt === null ? null : new Date(oldestAt).toISOString(),
      waiting_for: open?.status === "posted" ? null : waitingFor(),
    },
    next_after: page.length > limit ? endOf(records.at(-1)) : null,
  };

  async function statusOf(): Promise<"pending" | "posted"> {
    return (await ledger.read(chain, { type: "sent", account })) ? "posted" : "pending";
  }

  /** Why what is not final waits, as far as this gateway knows. */
  function waitingFor(): string | null {
    const { activatedNanoUsd } = bill;
    if (settledNanoUsd === baseNanoUsd) return null;
    if (activatedNanoUsd <= debitedNanoUsd) return "The chain has no credit for it. Activate more tokens.";
    if (sealed === null) return dueWords();
    const settler = environment.settler?.();
    if (settler === undefined) return "This gateway posts nothing on chain.";
    return settler.reason === undefined ? null : `The settler waits: ${settler.reason}.`;
  }

  function dueWords(): string {
    const { postNanoUsd, leastNanoUsd, intervalMs } = config.posting;
    const hours = Math.round(intervalMs / 3_600_000);
    const age = hours >= 1 ? `${hours} h` : `${Math.round(intervalMs / 1_000)} s`;
    return (
      `It is posted from $${formatUsd(postNanoUsd)}, or from $${formatUsd(leastNanoUsd)} once its oldest use is ` +
      `${age} old, or after 30 days.`
    );
  }
}

/** The uses that end above a position. A key's are its own. */
export async function usesOf(
  { environment, freeWork }: Gateway,
  { partition, keyId }: { partition: Partition; keyId?: string },
  { afterNanoUsd, limit }: { afterNanoUsd: NanoUsd; limit: number },
) {
  const query = { type: "uses", afterNanoUsd, limit: limit + 1, withKeys: keyId !== undefined } as const;
  await freeWork.wait(partition);
  const page = await environment.ledger.read(partition, query);
  const read = page.slice(0, limit);
  const uses = keyId === undefined ? read : read.filter((use) => use.keyId === keyId);
  return { data: uses.map(useObject), next_after: page.length > limit ? (read.at(-1)?.endsAtNanoUsd ?? null) : null };
}

/** The state of a receipt's charge: pending, posted or final, with its proof. */
export async function settlementOf(gateway: Gateway, { account, partition }: Owner, receipt: ReceiptRow) {
  const { config, environment } = gateway;
  const { ledger } = environment;
  const { endsAtNanoUsd } = receipt;
  if (endsAtNanoUsd === null) return null;
  const chain = chainPartition(config.settlement.chainId);
  const [bill, use, records] = await Promise.all([
    ledger.read(partition, { type: "bill" }),
    ledger.read(partition, { type: "use", endsAtNanoUsd }),
    ledger.read(chain, { type: "records", account, afterNanoUsd: endsAtNanoUsd - 1, limit: 1 }),
  ]);
  const [record = null] = records.filter(({ beforeNanoUsd }) => beforeNanoUsd < endsAtNanoUsd);
  const statement = await statementAt(gateway, { account, bill, record, endsAtNanoUsd });
  const isPosted = record === null && statement !== null && (await ledger.read(chain, { type: "sent", account }));
  const proven =
    use === null || statement === null ? null : await prove(gateway, { account, partition }, use, statement);
  return {
    status: record !== null ? "final" : isPosted ? "posted" : "pending",
    ends_at_nano_usd: endsAtNanoUsd,
    statement: statement === null ? null : statementObject(statement),
    leaf: proven?.leaf ?? null,
    proof: proven?.proof ?? null,
    record: record === null ? null : recordObject(record),
  };
}

type StatementName = { beforeNanoUsd: NanoUsd; afterNanoUsd: NanoUsd; root: string | null };

/** The statement that has a use: the open one, or the one of the record, whole although it may be paid in parts. */
async function statementAt(
  { config, environment }: Gateway,
  {
    account,
    bill,
    record,
    endsAtNanoUsd,
  }: { account: Address; bill: BillView; record: PlacedRecord | null; endsAtNanoUsd: NanoUsd },
): Promise<StatementName | null> {
  const { open } = bill;
  if (open !== null && open.beforeNanoUsd < endsAtNanoUsd && endsAtNanoUsd <= open.afterNanoUsd) return open;
  if (record === null) return null;
  const { root } = record;
  const chain = chainPartition(config.settlement.chainId);
  let { beforeNanoUsd } = record;
  let afterNanoUsd = beforeNanoUsd + record.amountNanoUsd;
  // Parts of one statement follow each other.
  for (;;) {
    const query = { type: "records", account, afterNanoUsd, limit: 1 } as const;
    const [next] = await environment.ledger.read(chain, query);
    if (next?.root !== root) break;
    afterNanoUsd = next.beforeNanoUsd + next.amountNanoUsd;
  }
  while (beforeNanoUsd > 0) {
    const query = { type: "records", account, afterNanoUsd: beforeNanoUsd - 1, limit: 1 } as const;
    const [earlier] = await environment.ledger.read(chain, query);
    if (earlier?.root !== root || earlier.beforeNanoUsd >= beforeNanoUsd) break;
    beforeNanoUsd = earlier.beforeNanoUsd;
  }
  return { beforeNanoUsd, afterNanoUsd, root };
}

/** The use's leaf in a statement, and its proof unless the statement is large or has no root yet. */
async function prove(
  { config, environment, freeWork }: Gateway,
  { account, partition }: Owner,
  use: UseRow,
  { beforeNanoUsd, afterNanoUsd, root }: StatementName,
): Promise<{ leaf: string; proof: string[] | null }> {
  const leafOf = makeLeafOf(config.settlement, account);
  const leaf = bytesToHex(leafOf(settledUse(use), beforeNanoUsd));
  if (root === null) return { leaf, proof: null };
  const query = { type: "uses", afterNanoUsd: beforeNanoUsd, limit: MAX_PROVEN_USES + 1 } as const;
  const uses = (await environment.ledger.read(partition, query)).filter(
    ({ endsAtNanoUsd }) => endsAtNanoUsd <= afterNanoUsd,
  );
  const index = uses.findIndex(({ id }) => id === use.id);
  if (index === -1 || uses.length > MAX_PROVEN_USES) return { leaf, proof: null };
  const proof = await freeWork.run(partition, () => proofOf(uses, index, beforeNanoUsd, leafOf));
  return { leaf, proof };
}

function proofOf(uses: readonly UseRow[], index: number, beforeNanoUsd: NanoUsd, leafOf: LeafOf): string[] {
  const leaves = uses.map((use) => leafOf(settledUse(use), beforeNanoUsd));
  return merkleTree(leaves, pureKeccak)
    .proofOf(index)
    .map((node) => bytesToHex(node));
}

function statementObject({ beforeNanoUsd, afterNanoUsd, root }: StatementName) {
  return { before_nano_usd: beforeNanoUsd, after_nano_usd: afterNanoUsd, root };
}

function useObject({ receipt, endsAtNanoUsd, costNanoUsd, admittedAt, server, offer, snapshot }: PlacedUse) {
  return {
    id: receipt,
    ends_at_nano_usd: endsAtNanoUsd,
    ...amounts({ charge: costNanoUsd }),
    day_served: utcDay(admittedAt),
    served_by: server ?? "protocol",
    offer,
    price_snapshot: snapshot,
  };
}

function recordObject({ beforeNanoUsd, amountNanoUsd, root, parts, proof, chunk }: PlacedRecord) {
  return {
    before_nano_usd: beforeNanoUsd,
    ...amounts({ amount: amountNanoUsd }),
    root,
    parts: (JSON.parse(parts) as ServedPart[]).map(({ agent, day, amountNanoUsd: served }) => ({
      agent,
      day: utcDay(day * DAY_MS),
      ...amounts({ amount: served }),
    })),
    chunk: { root: chunk.id, block: chunk.block, transaction: chunk.transactionHash, day: chunk.day },
    proof: (proof.match(/.{64}/g) ?? []).map((node) => `0x${node}`),
  };
}

function endOf(record: PlacedRecord | undefined): NanoUsd | null {
  return record === undefined ? null : record.beforeNanoUsd + record.amountNanoUsd;
}
