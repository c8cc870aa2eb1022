import { tokenBackingOutboxAbi } from "@inference/protocol/abi/token-backing-outbox";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import { erc20Abi } from "viem";
import { contractOn, type KeeperChain, timeOfBlock, timeOn } from "./keeper-chain.ts";
import { revertOf } from "./revert.ts";
import type { Delay, Found, TaskFinder } from "./task.ts";

/** How long a flush may be due, and dollars may be in flight, before it is late, in seconds. */
const FLUSH_LATE = 2n * 3_600n;
const IN_FLIGHT_LATE = 24n * 3_600n;
/** How long an amount below `minPayment` waits until it is booked. Anyone can send dust repeatedly. */
const DUST_WAITS = 24n * 3_600n;

/** The outbox's own reasons to refuse a flush, which a smaller batch does not mend. */
const OWN_REASONS = ["TooSoon", "BatchTooSmall", "CostTooHigh", "CostReserveShort"];
/** The batch below which no smaller one is tried, in token units: ten dollars, the outbox's smallest at any age. */
const SMALLEST_TRY = 10_000_000n;

type Route = { primary: KeeperChain; secondary: KeeperChain };

/** Flushes the pending dollars of a secondary chain's outbox. */
export function findFlush(secondary: KeeperChain): TaskFinder {
  const outbox = outboxOn(secondary);
  const { name } = secondary.settings;

  async function delays(pending: bigint): Promise<Delay[]> {
    const read = (functionName: "pendingSince" | "nextFlushAt" | "MIN_BATCH" | "MAX_AGE") =>
      secondary.reader.readContract({ ...outbox, functionName });
    const [since, openAt, minBatch] = [await read("pendingSince"), await read("nextFlushAt"), await read("MIN_BATCH")];
    const ripeAt = since + (pending >= minBatch ? 0n : await read("MAX_AGE"));
    const ageSeconds = (await timeOn(secondary)) - (ripeAt > openAt ? ripeAt : openAt);
    return ageSeconds > FLUSH_LATE ? [{ what: "flush", chain: name, ageSeconds }] : [];
  }
  async function feeOf(most: bigint): Promise<bigint> {
    const [, nativeFee] = await secondary.reader.readContract({ ...outbox, functionName: "quoteFlush", args: [most] });
    return nativeFee;
  }
  /** The largest batch that the bridge takes. Some bridges refuse a large one and do not say so in their quote. */
  async function acceptedOf(pending: bigint): Promise<bigint> {
    let most = pending;
    while (most > SMALLEST_TRY && (await isRefusedByTheBridge(most))) most /= 2n;
    return most;
  }
  async function isRefusedByTheBridge(most: bigint): Promise<boolean> {
    try {
      const value = await feeOf(most);
      const call = { ...outbox, functionName: "flush", args: [most] } as const;
      await secondary.reader.simulateContract({ ...call, value, account: secondary.writer.account });
      return false;
    } catch (error) {
      const reason = revertOf(error);
      return reason !== undefined && !OWN_REASONS.includes(reason);
    }
  }
  async function find(): Promise<Found> {
    const pending = await secondary.reader.readContract({ ...outbox, functionName: "pending" });
    if (pending === 0n) return { tasks: [] };
    const most = await acceptedOf(pending);
    const call = { ...outbox, functionName: "flush", args: [most] };
    const valueWei = (): Promise<bigint> => feeOf(most);
    const task = { name: "flush", chain: secondary, call, valueWei, notDue: ["TooSoon", "BatchTooSmall"] };
    return { tasks: [task], delays: await delays(pending) };
  }
  return { chain: secondary, find };
}

/** Books the dollars of a secondary chain that have arrived on the primary chain. */
export function findBooking({ primary, secondary }: Route, minPayment: bigint): TaskFinder {
  const minter = minterOn(primary);
  const { eid } = secondary.settings;
  let lyingSince: bigint | undefined;
  async function find(): Promise<Found> {
    const inbox = await primary.reader.readContract({ ...minter, functionName: "inboxOf", args: [eid] });
    const address = await primary.reader.readContract({ ...minter, functionName: "STABLECOIN" });
    const dollars = { address, abi: erc20Abi, functionName: "balanceOf", args: [inbox] } as const;
    if ((await primary.reader.readContract(dollars)) === 0n) {
      lyingSince = undefined;
      return { tasks: [] };
    }
    const time = await timeOn(primary);
    lyingSince ??= time;
    const atLeast = time - lyingSince < DUST_WAITS ? minPayment : 0n;
    const call = { ...minter, functionName: "book", args: [eid] };
    return { tasks: [{ name: "book", chain: primary, call, atLeast, notDue: ["NothingArrived"] }] };
  }
  return { chain: primary, find };
}

/** Alerts on dollars that have left a secondary chain and have not arrived. */
export function findTransits(primary: KeeperChain, secondaries: readonly KeeperChain[]): TaskFinder[] {
  const bookings = primary.events.track(
    { ...minterOn(primary), eventName: "Booked" },
    {
      keys: ({ eid }) => [String(eid)],
      value: ({ amount }) => ({ totalToken: String(amount) }),
      merge: (before, { totalToken }) => ({ totalToken: String(BigInt(before.totalToken) + BigInt(totalToken)) }),
    },
  );
  return secondaries.map((secondary) => {
    const { eid, name } = secondary.settings;
    const flushes = secondary.events.track(
      { ...outboxOn(secondary), eventName: "Flushed" },
      {
        keys: ({ id }) => [id],
        value: ({ flushedAfter }, block) => ({ flushedAfterToken: String(flushedAfter), block }),
      },
    );
    async function find(): Promise<Found> {
      // Dollars have no id: those that left first count as booked first.
      const booked = BigInt(bookings.open().get(String(eid))?.totalToken ?? 0);
      const open = [...flushes.open()];
      const isBooked = ([, flush]: (typeof open)[number]): boolean => BigInt(flush.flushedAfterToken) <= booked;
      flushes.done(open.filter(isBooked).map(([id]) => id));
      const oldest = open.find((flush) => !isBooked(flush))?.[1];
      if (oldest === undefined) return { tasks: [] };
      const ageSeconds = (await timeOn(secondary)) - (await timeOfBlock(secondary, oldest.block));
      const isLate = ageSeconds > IN_FLIGHT_LATE;
      return { tasks: [], delays: isLate ? [{ what: "in flight", chain: name, ageSeconds }] : [] };
    }
    return { chain: secondary, find };
  });
}

function outboxOn(chain: KeeperChain) {
  return { address: contractOn(chain, "tokenBackingOutbox"), abi: tokenBackingOutboxAbi } as const;
}

function minterOn(chain: KeeperChain) {
  return { address: contractOn(chain, "tokenMinter"), abi: tokenMinterAbi } as const;
}
