import { createAlarm } from "@inference/chain/alarm";
import type { LedgerClient } from "@inference/ledger/client";
import type { Command, PostingTerms, ReplyOf } from "@inference/ledger/commands";
import { sendHeard } from "@inference/ledger/hearing";
import { chainPartition, type Partition, partitionAddress } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { settledUse } from "@inference/ledger/settled-use";
import type { ServedPart } from "@inference/protocol/chunk";
import { joined } from "@inference/protocol/joined";
import type { NanoUsd } from "@inference/protocol/money";
import { chargedOf, type SettledUse } from "@inference/protocol/use-leaf";
import { zeroHash } from "viem";
import type { MakeStatementTree } from "./statement-tree.ts";

/**
 * Makes the statements of accounts whose uses are due: seals the uses, hashes them, and tells the chain's partition the
 * statement, again each minute until it is final. Everything it knows is in the ledger, so it may stop at any point.
 */
export type Statements = {
  /** Takes every due account one step further. Never throws. A call during a poll joins that poll. */
  poll(): Promise<void>;
};

export type StatementsOptions = {
  ledger: LedgerClient;
  chainId: number;
  /** When an account's uses are posted. */
  terms: PostingTerms;
  makeTree: MakeStatementTree;
  now(): number;
  onAlert(message: string): void;
  /** Maximum uses of a statement, for a host that has to stop hashing after some time. The next one has the rest. */
  maxUses?: number;
};

/** Accounts that are worked on at once. */
const LANES = 8;
const ACCOUNTS_A_PAGE = 200;
const USES_A_PAGE = 500;
/** Each part of a record takes up to 110,000 gas, the first time that its agent ever serves. */
const MAX_PARTS = 64;

export function createStatements(options: StatementsOptions): Statements {
  const { ledger, terms, now, makeTree, maxUses = Number.MAX_SAFE_INTEGER } = options;
  const chain = chainPartition(options.chainId);
  const alarm = createAlarm(options);

  const run = <C extends Command>(partition: Partition, command: C): Promise<ReplyOf<C>> =>
    ledger.run(() => send(partition, command), { untilDurable: true });

  async function keep(partition: Partition): Promise<void> {
    const command = { type: "seal", at: now(), ...terms } as const;
    const sealed = await ledger.run(() => sendHeard(chain, partition, command), { untilDurable: true });
    if (sealed.status !== "open") return;
    let bill = await ledger.read(partition, { type: "bill" });
    if (bill.open !== null && bill.open.root === null) {
      await run(partition, { type: "nameRoot", ...(await hash(partition, bill.open)) });
      bill = await ledger.read(partition, { type: "bill" });
    }
    if (bill.toTell === null) return;
    const told = await run(chain, { type: "tell", at: now(), account: partitionAddress(partition), ...bill.toTell });
    if (told.status === "final") await hear(partition);
  }

  /** The account does not know its final debits. */
  async function hear(partition: Partition): Promise<void> {
    const answer = await run(chain, { type: "inquire", account: partitionAddress(partition) });
    if (answer.status === "answered") await run(partition, { type: "hear", at: now(), epoch: null, ...answer.hearing });
  }

  /** The root of the open statement's uses and the parts of agents. It ends early with the last use that fits. */
  async function hash(partition: Partition, { beforeNanoUsd, afterNanoUsd }: Stretch): Promise<Named> {
    const account = partitionAddress(partition);
    const tree = makeTree(account, beforeNanoUsd);
    const contents: Contents = { parts: new Map(), uses: 0, chargedNanoUsd: 0 };
    let position = beforeNanoUsd;
    for (;;) {
      const page = await ledger.read(partition, { type: "uses", afterNanoUsd: position, limit: USES_A_PAGE });
      const own = page.filter(({ endsAtNanoUsd }) => endsAtNanoUsd <= afterNanoUsd).map(settledUse);
      const full = own.findIndex((use) => !takeIn(contents, use, { beforeNanoUsd, maxUses }));
      const taken = full === -1 ? own : own.slice(0, full);
      tree.add(taken);
      position = taken.at(-1)?.endsAtNanoUsd ?? position;
      if (taken.length === USES_A_PAGE) continue;
      const end = full === -1 ? afterNanoUsd : position;
      const missing = end - beforeNanoUsd - contents.chargedNanoUsd;
      if (missing !== 0)
        alarm(account, `${account}: a statement of up to ${end} lacks uses of ${missing} nano-dollars`);
      const parts = JSON.stringify([...contents.parts.values()]);
      // After a restore all uses may be lost. It is told without them, because the next one begins at its end.
      const root = contents.uses === 0 ? zeroHash : tree.root();
      return { beforeNanoUsd, afterNanoUsd: end, root, parts };
    }
  }

  async function work(accounts: Partition[]): Promise<void> {
    for (let account = accounts.shift(); account !== undefined; account = accounts.shift()) {
      try {
        await keep(account);
      } catch (error) {
        alarm("failed", `the statement of ${account} could not be made, and is tried again: ${String(error)}`);
      }
    }
  }

  async function poll(): Promise<void> {
    for (let after: Partition | null = null; ; ) {
      const page = await ledger.due("bill", now(), { after, limit: ACCOUNTS_A_PAGE });
      const accounts = [...page];
      await Promise.all(Array.from({ length: LANES }, () => work(accounts)));
      if (page.length < ACCOUNTS_A_PAGE) return;
      after = page.at(-1) ?? after;
    }
  }

  return {
    poll: joined(() =>
      poll().catch((error) => alarm("failed", `statements are not made, and are tried again: ${String(error)}`)),
    ),
  };
}

type Stretch = { beforeNanoUsd: NanoUsd; afterNanoUsd: NanoUsd };
type Named = Stretch & { root: string; parts: string };
type Contents = { parts: Map<string, ServedPart>; uses: number; chargedNanoUsd: NanoUsd };

/** False if the statement has no room for the use. */
function takeIn(
  contents: Contents,
  use: SettledUse,
  { beforeNanoUsd, maxUses }: { beforeNanoUsd: NanoUsd; maxUses: number },
): boolean {
  if (contents.uses === maxUses) return false;
  const chargedNanoUsd = chargedOf(use, beforeNanoUsd);
  if (use.agent !== undefined) {
    const { token: agent } = use.agent;
    const name = `${agent} ${use.dayServed}`;
    const part = contents.parts.get(name);
    if (part === undefined && contents.parts.size === MAX_PARTS) return false;
    const amountNanoUsd = (part?.amountNanoUsd ?? 0) + chargedNanoUsd;
    contents.parts.set(name, { agent, day: use.dayServed, amountNanoUsd });
  }
  contents.uses += 1;
  contents.chargedNanoUsd += chargedNanoUsd;
  return true;
}
