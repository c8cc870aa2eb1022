import type { ActivationWatcher } from "@inference/chain/activation-watcher";
import { readBlock } from "@inference/chain/chain-view";
import type { ChainClient } from "@inference/chain/rpc";
import { readUint } from "@inference/chain/settlement-view";
import type { LapsedHold, LedgerClient } from "@inference/ledger/client";
import type { Command, ReplyOf } from "@inference/ledger/commands";
import { journalsOf } from "@inference/ledger/journals";
import { accountPartition, chainPartition, journalPartition, type Partition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { DAY_MS, dayNumber, utcDay } from "@inference/protocol/window";

/**
 * Brings a ledger to the chain's: every balance becomes the account's credit on chain, less its uses that are still to
 * be posted. For books that are older than the chain, and after a foreign batch. Nothing else may use the ledger.
 *
 * What lost books served and did not post is lost with them. Uses that are waiting here and were admitted before the
 * last unknown batch may have been in it: they are never posted, so that no use is posted twice.
 *
 * It is safe to repeat, after a stop at any point.
 */
export type RebuildOptions = {
  client: ChainClient;
  chainId: number;
  settlement: Address;
  startBlock: number;
  ledger: LedgerClient;
  /** Makes the deliveries that are in outboxes. Resolves with the number of those that cannot be made. */
  deliverAll(): Promise<number>;
  /** Of the same chain and ledger. */
  watcher: ActivationWatcher;
  /** The owners' holds. No process works on them. */
  unresolvedHolds: readonly LapsedHold[];
  now(): number;
  /** Between two looks at a chain whose last batch is not final yet. */
  pause(): Promise<void>;
  tell(message: string): void;
};

export type Rebuilt = {
  batchesAccepted: number;
  usesSetAside: number;
  holdsReleased: number;
  accountsChanged: number;
  givenNanoUsd: number;
  takenNanoUsd: number;
};

/** How far the chain's clock may be behind ours: its blocks have whole seconds, and their time is the proposer's. */
const CLOCKS_MS = 60_000;
/** Rows of one command or query. */
const PAGE = 500;

export async function rebuild(options: RebuildOptions): Promise<Rebuilt> {
  const { client, chainId, settlement, ledger, now, tell } = options;
  const partition = chainPartition(chainId);
  const run = <C extends Command>(command: C, where: Partition = partition): Promise<ReplyOf<C>> =>
    ledger.run(() => send(where, command), { untilDurable: true });

  await followToTheEnd(options);
  // Made later, a credit or debit would change a balance that is right by then.
  const left = await options.deliverAll();
  if (left > 0) throw new Error(`${left} deliveries between partitions cannot be made: the alert \`ledger\` says why`);
  const holdsReleased = await releaseHolds();
  const cursor = await ledger.read(partition, { type: "cursor" });
  const lastBatch = cursor?.lastBatchId ?? 0;
  await endOwnBatch(lastBatch);
  const foreign = await foreignBatches(cursor?.foreignBatch ?? null);
  const usesSetAside =
    foreign.length === 0 ? 0 : await setAsideUntil((await timeOf(foreign[0]?.block ?? 0)) + CLOCKS_MS);
  for (let left = cursor?.foreignBatch ?? null; left !== null; ) {
    const reply = await run({ type: "acceptBatches", at: now() });
    if (reply.status === "conflict") throw new Error(`batch ${reply.batch} of ours is in the way of the chain's`);
    left = reply.left;
  }
  const balances = await setBalances();
  return { batchesAccepted: foreign.length, usesSetAside, holdsReleased, ...balances };

  /** Sessions are paid by the day's capacity, which the chain does not count: their holds are the sweeper's. */
  async function releaseHolds(): Promise<number> {
    const own = options.unresolvedHolds.filter(({ partition: owner }) => owner.startsWith("account:"));
    for (const { partition: owner, hold } of own) {
      await run({ type: "release", id: hold.id, at: now(), lossNanoUsd: 0, detail: null }, owner);
    }
    return own.length;
  }

  /** A batch of ours that was on its way: the chain has it, or another one has its number, or it is still to come. */
  async function endOwnBatch(lastBatch: number): Promise<void> {
    const [last] = await ledger.read(partition, { type: "batches", limit: 1 });
    if (last === undefined || last.state === "settled" || last.batch > lastBatch) return;
    const name = { batch: last.batch, openedAt: last.openedAt };
    const [posted] = await ledger.read(partition, { type: "posted", before: last.batch + 1, limit: 1 });
    if (posted?.batch === last.batch && posted.origin === "ours") {
      await run({ type: "settleBatch", ...name, at: now(), settledBy: posted.hash, block: posted.block });
      return;
    }
    await run({ type: "rejectBatch", ...name, transactions: last.transactions });
    await run({ type: "returnUses", ...name, setAside: null }, journalPartition(last.journal));
    await run({ type: "dropBatch", ...name });
  }

  /** The newest first. */
  async function foreignBatches(first: number | null) {
    if (first === null) return [];
    const all = [];
    for (let before = lastBatch + 1; before > first; ) {
      const page = await ledger.read(partition, { type: "posted", before, limit: PAGE });
      all.push(...page.filter(({ batch, origin }) => batch >= first && origin === "foreign"));
      before = page.at(-1)?.batch ?? 0;
    }
    return all;
  }

  async function setAsideUntil(until: number): Promise<number> {
    let sum = 0;
    for (const journal of await journals()) {
      for (;;) {
        const { uses } = await run({ type: "setAsideUses", until, limit: PAGE }, journalPartition(journal));
        sum += uses;
        if (uses < PAGE) break;
      }
    }
    return sum;
  }

  async function setBalances() {
    const unposted = await unpostedUses();
    const sums = { accountsChanged: 0, givenNanoUsd: 0, takenNanoUsd: 0 };
    for (let after = ""; ; ) {
      const page = await ledger.read(partition, { type: "onchain", after, limit: PAGE });
      for (const { id: account, creditNanoUsd } of page) {
        const owner = accountPartition(account as Address);
        const balance = await ledger.read(owner, { type: "balance", at: now() });
        const left = Math.max(0, creditNanoUsd - (unposted.get(account) ?? 0));
        const difference = left - ((balance.limitNanoUsd ?? 0) - balance.settledNanoUsd);
        if (difference === 0) continue;
        const correction = { id: `rebuild:${now()}`, at: now(), amountNanoUsd: Math.abs(difference), detail: "{}" };
        await run({ type: difference > 0 ? "credit" : "debit", ...correction }, owner);
        sums.accountsChanged += 1;
        sums[difference > 0 ? "givenNanoUsd" : "takenNanoUsd"] += Math.abs(difference);
      }
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return sums;
      after = last.id;
    }
  }

  /** By account: what is still to be posted, or would be if the account had the credit. */
  async function unpostedUses(): Promise<Map<string, number>> {
    const [last] = await ledger.read(partition, { type: "batches", limit: 1 });
    const onItsWay = last === undefined || last.state === "settled" ? null : last.batch;
    const sums = new Map<string, number>();
    for (const journal of await journals()) {
      for (let after = ""; ; ) {
        const page = await ledger.read(journalPartition(journal), { type: "uses", after, limit: PAGE });
        for (const { account, chargeNanoUsd, batch, setAside } of page) {
          const isToCome = batch === null || batch === onItsWay || setAside === "credit";
          if (isToCome) sums.set(account, (sums.get(account) ?? 0) + chargeNanoUsd);
        }
        const end = page.at(-1);
        if (end === undefined || page.length < PAGE) break;
        after = end.id;
      }
    }
    return sums;
  }

  async function journals(): Promise<string[]> {
    const [first, last] = [dayNumber(await timeOf(options.startBlock)), dayNumber(now()) + 1];
    const days = Array.from({ length: last - first + 1 }, (_, index) => utcDay((first + index) * DAY_MS));
    return (await Promise.all(days.map((day) => journalsOf(ledger, day)))).flat();
  }

  async function timeOf(number: number): Promise<number> {
    const block = await readBlock(client, number);
    if (block === null) throw new ChainUnavailable(`the node does not have block ${number}`);
    return block.at;
  }

  async function followToTheEnd({ watcher, pause }: RebuildOptions): Promise<void> {
    for (;;) {
      const result = await watcher.poll();
      if (result.outcome === "halted") throw new Error(`the chain cannot be followed: ${result.reason}`);
      if (result.outcome === "advanced") continue;
      const block = await readBlock(client, "latest");
      const count = block === null ? null : await readUint(client, settlement, "batchCount", block);
      const read = (await ledger.read(partition, { type: "cursor" }))?.lastBatchId ?? null;
      if (result.outcome === "idle" && read !== null && count !== null && read >= Number(count)) return;
      tell(
        result.outcome === "waiting"
          ? `waiting: ${result.reason}`
          : `waiting until ${count} batches are final; ${read ?? 0} are`,
      );
      await pause();
    }
  }
}
