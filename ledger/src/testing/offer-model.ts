import { DAY_MS } from "@inference/protocol/window";
import type { Command, Commands } from "../commands.ts";
import type { Partition } from "../partition.ts";

/** What the ledger should answer of offers, from the rules: the last of each agent, and whether it was ended. */
type CommandOf<T extends keyof Commands> = Commands[T]["command"];
type Offer = CommandOf<"setOffer"> & { isEnded: boolean };

export function makeOfferModel() {
  const offers = new Map<Partition, Offer>();

  function set(partition: Partition, command: CommandOf<"setOffer">): unknown {
    const last = offers.get(partition);
    if (last !== undefined && last.hash === command.hash && !last.isEnded) return { status: "set" };
    if (last !== undefined && command.nonce <= last.nonce) return { status: "nonce_used" };
    if (command.nonce > (last === undefined ? 0 : last.nonce) + 1_048_576) return { status: "nonce_too_high" };
    const isOtherDay = command.day !== 0 && command.day !== Math.floor(command.at / DAY_MS);
    if (isOtherDay && command.shareBps !== 0) return { status: "wrong_day" };
    offers.set(partition, { ...command, isEnded: false });
    return { status: "set" };
  }

  /** Undefined: a command of something else. */
  function apply(partition: Partition, command: Command): unknown {
    if (command.type === "setOffer") return set(partition, command);
    if (command.type !== "endOffer") return undefined;
    const last = offers.get(partition);
    if (last?.hash !== command.hash) return { status: "unknown" };
    last.isEnded = true;
    return { status: "ended" };
  }

  return {
    apply,
    last: (partition: Partition) => offers.get(partition),
    /** What may be sold of a capacity at a time; undefined if no offer is in force. */
    limit(partition: Partition, capacity: number, at: number): { hash: string; limit: number } | undefined {
      const last = offers.get(partition);
      if (last === undefined || last.isEnded || last.shareBps === 0) return undefined;
      if (last.day !== 0 && last.day !== Math.floor(at / DAY_MS)) return undefined;
      return { hash: last.hash, limit: Number((BigInt(capacity) * BigInt(last.shareBps)) / 10_000n) };
    },
  };
}
