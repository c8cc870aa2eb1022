import { tokenBackingOutboxAbi } from "@inference/protocol/abi/token-backing-outbox";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import { erc20Abi } from "viem";
import type { Delay, Duty } from "./chore.ts";
import { createEventReader } from "./event-reader.ts";
import { contractOn, type KeeperChain, timeOfBlock, timeOn } from "./keeper-chain.ts";

/** How long dollars may wait after their time has come, and be on their way, in seconds. */
const FLUSH_LATE = 2n * 3_600n;
const IN_FLIGHT_LATE = 24n * 3_600n;
/** How long less than is worth a payment lies before it is booked: anyone can send dust, again and again. */
const DUST_WAITS = 24n * 3_600n;

type Route = { primary: KeeperChain; secondary: KeeperChain };

/** Sends the dollars that wait in a secondary chain's outbox. */
export function flushDuty(secondary: KeeperChain): Duty {
  const outbox = outboxOn(secondary);
  const { name } = secondary.settings;

  async function delays(pending: bigint): Promise<Delay[]> {
    const read = (functionName: "pendingSince" | "lastFlushAt" | "MIN_BATCH" | "MIN_INTERVAL" | "MAX_AGE") =>
      secondary.reader.readContract({ ...outbox, functionName });
    const [since, last, minBatch] = [await read("pendingSince"), await read("lastFlushAt"), await read("MIN_BATCH")];
    const ripeAt = since + (pending >= minBatch ? 0n : await read("MAX_AGE"));
    const openAt = last + (await read("MIN_INTERVAL"));
    const ageSeconds = (await timeOn(secondary)) - (ripeAt > openAt ? ripeAt : openAt);
    return ageSeconds > FLUSH_LATE ? [{ what: "flush", chain: name, ageSeconds }] : [];
  }
  async function valueWei(): Promise<bigint> {
    const [, nativeFee] = await secondary.reader.readContract({ ...outbox, functionName: "quoteFlush" });
    return nativeFee;
  }
  return async () => {
    const pending = await secondary.reader.readContract({ ...outbox, functionName: "pending" });
    if (pending === 0n) return { chores: [], delays: [] };
    const call = { ...outbox, functionName: "flush", args: [] };
    const chore = { name: "flush", chain: secondary, call, valueWei, notDue: ["TooSoon", "BatchTooSmall"] };
    return { chores: [chore], delays: await delays(pending) };
  };
}

/** Books the dollars of a secondary chain that have arrived on the primary one. */
export function bookingDuty({ primary, secondary }: Route, minPayment: bigint): Duty {
  const minter = minterOn(primary);
  const { eid } = secondary.settings;
  let lyingSince: bigint | undefined;
  return async () => {
    const inbox = await primary.reader.readContract({ ...minter, functionName: "inboxOf", args: [eid] });
    const address = await primary.reader.readContract({ ...minter, functionName: "STABLECOIN" });
    const dollars = { address, abi: erc20Abi, functionName: "balanceOf", args: [inbox] } as const;
    if ((await primary.reader.readContract(dollars)) === 0n) {
      lyingSince = undefined;
      return { chores: [], delays: [] };
    }
    const time = await timeOn(primary);
    lyingSince ??= time;
    const atLeast = time - lyingSince < DUST_WAITS ? minPayment : 0n;
    const call = { ...minter, functionName: "book", args: [eid] };
    return { chores: [{ name: "book", chain: primary, call, atLeast, notDue: ["NothingArrived"] }], delays: [] };
  };
}

/** Tells of dollars that have left a secondary chain and do not arrive. */
export function transitDuty({ primary, secondary }: Route): Duty {
  const { eid, name } = secondary.settings;
  const flushes = createEventReader(secondary, { ...outboxOn(secondary), eventName: "Flushed" });
  const bookings = createEventReader(primary, { ...minterOn(primary), eventName: "Booked" });
  return async () => {
    // Dollars carry no names: those that left first count as booked first.
    const booked = (await bookings())
      .filter(({ args }) => args.eid === eid)
      .reduce((sum, { args }) => sum + args.amount, 0n);
    const oldest = (await flushes()).find(({ args }) => args.flushedAfter > booked);
    if (oldest === undefined) return { chores: [], delays: [] };
    const ageSeconds = (await timeOn(secondary)) - (await timeOfBlock(secondary, oldest.blockNumber));
    return { chores: [], delays: ageSeconds > IN_FLIGHT_LATE ? [{ what: "in flight", chain: name, ageSeconds }] : [] };
  };
}

function outboxOn(chain: KeeperChain) {
  return { address: contractOn(chain, "tokenBackingOutbox"), abi: tokenBackingOutboxAbi } as const;
}

function minterOn(chain: KeeperChain) {
  return { address: contractOn(chain, "tokenMinter"), abi: tokenMinterAbi } as const;
}
