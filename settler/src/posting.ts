import type { Heads } from "@inference/chain/heads";
import type { BatchView } from "@inference/ledger/batch";
import { ceilingPartition, journalDay, journalPartition } from "@inference/ledger/partition";
import type { TransactionRow } from "@inference/ledger/tables";
import { DAY_MS, dayNumber, utcDay } from "@inference/protocol/window";
import { type Hex, keccak256, parseTransaction } from "viem";
import { type BatchContent, contentOf } from "./batch-content.ts";
import { type Desk, nameOf, next, type Step } from "./desk.ts";
import { raisedFees } from "./raised-fees.ts";
import { refusedUses, type SetAside } from "./refused-uses.ts";
import { type Fees, type Revert, settleCall } from "./settlement-contract.ts";

/** The steps of one batch, from its opening until it is in a final block or dropped. */
export type Posting = {
  build(batch: BatchView): Promise<Step>;
  sendFirst(batch: BatchView, heads: Heads): Promise<Step>;
  follow(batch: BatchView, heads: Heads): Promise<Step>;
  drop(batch: BatchView, setAside: SetAside | null): Promise<Step>;
};

/** A transaction to sign. Fees and gas are asked of the node if they are not given. */
type Unsigned = { call: Hex; day: number; nonce: number; fees?: Fees; gas?: bigint | undefined };

/** The contract takes yesterday's batches for six hours; the last minutes are left for a transaction to get in. */
const GRACE_MS = 5.5 * 3_600_000;

export function makePosting(desk: Desk): Posting {
  const { contract, settlement, ledger, limits, alarm, now, run, waiting, halted, timeOf } = desk;

  /** Making it takes 0.1 ms a use. A root has one content. */
  let lastContent: BatchContent | undefined;

  async function build(batch: BatchView): Promise<Step> {
    const name = nameOf(batch);
    const { maxUses } = desk;
    const { maxEntries, maxServes } = limits;
    const gather = { type: "gatherUses", ...name, maxUses, maxEntries, maxServes } as const;
    const reply = await run(gather, journalPartition(batch.journal));
    if (reply.status === "late") desk.lastOpenedAt = Math.max(desk.lastOpenedAt, reply.openedAt);
    const uses = reply.status === "gathered" ? reply.uses : [];
    const [first, final] = [uses[0], uses.at(-1)];
    if (first === undefined || final === undefined) return reject(batch, null);
    const content = contentOf(settlement, batch.batch, uses);
    const { root, amountNanoUsd, digest: entries } = content;
    const range = { firstUse: first.id, lastUse: final.id };
    const built = { root, uses: uses.length, amountNanoUsd, entries, ...range };
    const { status } = await run({ type: "buildBatch", ...name, ...built });
    if (status !== "built") return halted(`batch ${batch.batch} could not be built: the ledger has another one`);
    lastContent = content;
    return next;
  }

  async function sendFirst(batch: BatchView, heads: Heads): Promise<Step> {
    const content = await contentAgain(batch);
    if (content === undefined)
      return halted(`the journal of ${batch.journal} does not have what batch ${batch.batch} was built of`);
    for (const day of payingDays(batch, heads)) {
      const call = settleCall(batch.batch, day, content);
      const revert = await contract.simulate(call, "latest");
      if (revert === undefined) return signFirst(batch, { call, day }, heads);
      if (revert.name !== "CeilingReached") return refused(batch, revert, { call, content, day }, heads);
    }
    if (batch.uses > 1 && desk.maxUses > 1) {
      // A part of it may find room.
      desk.maxUses = Math.ceil(Math.min(batch.uses, desk.maxUses) / 2);
      return reject(batch, null);
    }
    // A ceiling that is raised later is seen when it is final: what is above that one is set aside.
    const ceilingNanoUsd = await contract.ceilingNanoUsd(heads.final);
    if (batch.uses === 1 && BigInt(batch.amountNanoUsd) > ceilingNanoUsd) {
      return reject(batch, { ids: content.entries.flatMap(({ uses }) => uses.map(({ id }) => id)), reason: "ceiling" });
    }
    return waiting(`no day's ceiling has room for batch ${batch.batch}`);
  }

  /** A number above that of a transaction which is not final may be out of turn for ever. */
  async function signFirst(batch: BatchView, what: { call: Hex; day: number }, heads: Heads): Promise<Step> {
    const [nonce, latest] = [await contract.nextNonce(heads.final), await contract.nextNonce("latest")];
    if (nonce === latest) return sign(batch, { ...what, nonce });
    return waiting(`${desk.address} has a transaction that is not final: its next number is ${nonce} or ${latest}`);
  }

  /** The days whose ceiling may pay, since 1970: that of its uses as long as the contract accepts it, and today. */
  function payingDays({ journal }: BatchView, heads: Heads): number[] {
    const [own, today] = [dayNumber(Date.parse(journalDay(journal))), dayNumber(timeOf(heads))];
    if (own === today) return [today];
    const isInGrace = own === today - 1 && timeOf(heads) % DAY_MS < GRACE_MS;
    return isInGrace ? [own, today] : [today];
  }

  /** Writes the transaction down before it is sent: whatever happens then, it is known. */
  async function sign(batch: BatchView, what: Unsigned): Promise<Step> {
    const { call, day, nonce, gas } = what;
    const fees = what.fees ?? (await contract.fees());
    if (fees.maxFeePerGas > limits.maxFeePerGasWei) {
      return waiting(`gas costs ${fees.maxFeePerGas} wei, and at most ${limits.maxFeePerGasWei} are paid`);
    }
    const raw = await contract.sign(call, { nonce, ...(gas === undefined ? {} : { gas }), ...fees });
    const name = nameOf(batch);
    if (utcDay(day * DAY_MS) !== journalDay(batch.journal)) {
      const id = `batch:${batch.batch}:${batch.openedAt}:${day}`;
      const carry = { type: "carry", id, at: day * DAY_MS, amountNanoUsd: batch.amountNanoUsd } as const;
      const { status } = await run(carry, ceilingPartition);
      if (status !== "carried") return halted(`batch ${batch.batch} could not be carried to ${day}: ${status}`);
    }
    const transaction = { hash: keccak256(raw), raw, nonce, maxFeePerGasWei: String(fees.maxFeePerGas) };
    const when = { day: utcDay(day * DAY_MS), signedAt: now() };
    const reply = await run({ type: "signBatch", ...name, ...transaction, ...when });
    if (reply.status !== "signed") return halted(`a transaction for batch ${batch.batch} could not be written down`);
    await contract.send(raw);
    return { outcome: "posting" };
  }

  async function follow(batch: BatchView, heads: Heads): Promise<Step> {
    const [newest] = batch.signed;
    if (newest === undefined) return halted(`batch ${batch.batch} is signed, and has no transaction`);
    for (const { hash } of batch.signed) {
      const receipt = await contract.receipt(hash as Hex);
      if (receipt === null) continue;
      if (receipt.isSuccess || receipt.block > heads.final.number) return { outcome: "posting" };
      if (await isUsedUp(newest, heads)) return reverted(batch, heads);
    }
    if (await isUsedUp(newest, heads)) {
      alarm("nonce", `batch ${batch.batch}: another transaction of ${desk.address} took its number ${newest.nonce}`);
      return reject(batch, null);
    }
    return isInTime(newest, heads) && now() - newest.signedAt < limits.stuckAfterMs
      ? sendAgain(newest)
      : replace(batch, newest, heads);
  }

  /** Two answers say so: if one is false, the batch would be posted twice. */
  async function isUsedUp({ nonce }: TransactionRow, heads: Heads): Promise<boolean> {
    return (await contract.nextNonce(heads.final)) > nonce && (await contract.nextNonce("latest")) > nonce;
  }

  async function sendAgain({ raw }: TransactionRow): Promise<Step> {
    await contract.send(raw as Hex);
    return { outcome: "posting" };
  }

  /** The same number with a higher fee, or for a day that the contract still takes. */
  async function replace(batch: BatchView, newest: TransactionRow, heads: Heads): Promise<Step> {
    const content = await contentAgain(batch);
    if (content === undefined) return halted(`the journal no longer has what batch ${batch.batch} was built of`);
    const own = dayNumber(Date.parse(newest.day));
    const day = isInTime(newest, heads) ? own : dayNumber(timeOf(heads));
    const call = settleCall(batch.batch, day, content);
    // One of its transactions may be in a block that is not final: there is nothing to replace then. What came too late
    // for every day is replaced too, to use up its number.
    const revert = await contract.simulate(call, "latest");
    if (revert !== undefined && revert.name !== "WrongDay") return sendAgain(newest);
    const fees = raisedFees(newest.raw as Hex, await contract.fees(), limits.maxFeePerGasWei);
    if (fees === undefined) {
      await contract.send(newest.raw as Hex);
      return waiting(`transaction ${newest.hash} is in no block, and more gas than it offers is not paid`);
    }
    alarm("stuck", `batch ${batch.batch}: transaction ${newest.hash} is in no block, and is replaced`);
    // What is going to revert has no estimate.
    const { gas } = revert === undefined ? {} : parseTransaction(newest.raw as Hex);
    return sign(batch, { call, day, nonce: newest.nonce, fees, gas });
  }

  function isInTime({ day }: TransactionRow, heads: Heads): boolean {
    const [own, today] = [dayNumber(Date.parse(day)), dayNumber(timeOf(heads))];
    return own === today || (own === today - 1 && timeOf(heads) % DAY_MS < GRACE_MS);
  }

  /** Its number is used up, so that none of its transactions can be settled any more. */
  async function reverted(batch: BatchView, heads: Heads): Promise<Step> {
    const content = await contentAgain(batch);
    const [day = 0] = payingDays(batch, heads);
    if (content === undefined) return reject(batch, null);
    const call = settleCall(batch.batch, day, content);
    const revert = await contract.simulate(call, "latest");
    alarm("reverted", `batch ${batch.batch} was reverted: ${revert?.name ?? "its cause is over"}`);
    // Uses that came too late are set aside when the next batch has them.
    const isOver = revert === undefined || revert.name === "CeilingReached" || revert.name === "WrongDay";
    return isOver ? reject(batch, null) : refused(batch, revert, { call, content, day }, heads);
  }

  async function refused(
    batch: BatchView,
    revert: Revert,
    { call, content, day }: { call: Hex; content: BatchContent; day: number },
    heads: Heads,
  ): Promise<Step> {
    const { name, args } = revert;
    const behind = `the node's latest block is behind, and refuses batch ${batch.batch}: ${name}`;
    const setAside = refusedUses(content, revert, day);
    if (name === "WrongBatch" || (name === "WrongDay" && setAside === undefined)) return waiting(behind);
    if (setAside === undefined) {
      return halted(
        `the settlement refuses batch ${batch.batch}: ${name ?? "unknown error"} ${args.map(String).join(", ")}`,
      );
    }
    // A clock may be wrong for a while, and what is set aside stays so.
    if (setAside.reason === "expired" && dayNumber(Math.min(heads.latest.at, now())) < day) return waiting(behind);
    // Credit and capacity that count are in a final block. A node that is behind may not have them yet.
    const again = await contract.simulate(call, heads.final);
    if (again === undefined || again.name !== name || again.args[0] !== args[0]) return waiting(behind);
    if (name === "InsufficientCredit" && (await deniesCredit(content, args as [string, bigint, bigint]))) {
      return waiting(`the node denies credit of ${args[0]} that our books have read`);
    }
    return reject(batch, setAside);
  }

  /** Whether an account's credit is below what final events told of it, less what this batch took from it before. */
  async function deniesCredit({ entries }: BatchContent, [told, asked, left]: [string, bigint, bigint]) {
    const account = told.toLowerCase();
    // Ids that differ in their last digit are neighbours.
    const query = { type: "onchain", after: account.slice(0, -1), limit: 16 } as const;
    const read = (await ledger.read(desk.partition, query)).find(({ id }) => id === account);
    const own = entries.filter((entry) => entry.account.toLowerCase() === account);
    const refusedAt = own.findIndex(({ amountNanoUsd }) => amountNanoUsd === asked);
    const taken = own.slice(0, refusedAt).reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n);
    return read !== undefined && BigInt(read.creditNanoUsd) - taken > left;
  }

  async function reject(batch: BatchView, setAside: SetAside | null): Promise<Step> {
    const { status } = await run({ type: "rejectBatch", ...nameOf(batch), transactions: batch.signed.length });
    if (status !== "rejected") return halted(`batch ${batch.batch} could not be rejected`);
    return drop(batch, setAside);
  }

  async function drop(batch: BatchView, setAside: SetAside | null): Promise<Step> {
    await run({ type: "returnUses", ...nameOf(batch), setAside }, journalPartition(batch.journal));
    await run({ type: "dropBatch", ...nameOf(batch) });
    return next;
  }

  async function contentAgain({
    batch,
    journal,
    firstUse,
    lastUse,
    root,
  }: BatchView): Promise<BatchContent | undefined> {
    if (firstUse === null || lastUse === null) return undefined;
    if (lastContent?.root === root) return lastContent;
    const query = { type: "batchUses", batch, firstUse, lastUse } as const;
    const uses = await ledger.read(journalPartition(journal), query);
    if (uses.length === 0) return undefined;
    const content = contentOf(settlement, batch, uses);
    if (content.root !== root) return undefined;
    lastContent = content;
    return content;
  }

  return { build, sendFirst, follow, drop };
}
