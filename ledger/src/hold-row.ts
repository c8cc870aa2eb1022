import type { NanoUsd } from "@inference/protocol/money";
import type { Partition } from "./partition.ts";
import type { HoldRow } from "./tables.ts";

/** The rows of holds, as an owner and its followers make and read them. */
export function isUnresolved(hold: HoldRow): boolean {
  return hold.state === "open" || hold.state === "orphaned";
}

export function words(text: string): string[] {
  return text === "" ? [] : text.split(" ");
}

/** Takes the id of an unknown hold, so that a reserve that arrives late is refused. */
export function tombstone(id: string, partition: Partition, at: number): HoldRow {
  return { ...openHold({ id, at, amountNanoUsd: 0, leaseMs: 0 }, partition, "tombstone"), state: "released" };
}

/** A new hold that counts nowhere. */
export function openHold(
  { id, at, amountNanoUsd, leaseMs }: { id: string; at: number; amountNanoUsd: NanoUsd; leaseMs: number },
  owner: Partition,
  fingerprint: string,
): HoldRow {
  return {
    id,
    state: "open",
    owner,
    amountNanoUsd,
    chargeNanoUsd: 0,
    counters: "",
    followers: "",
    admittedAt: at,
    leaseUntil: at + leaseMs,
    deliveredNanoUsd: 0,
    upstreamId: null,
    keyId: null,
    fingerprint,
    detail: "",
    server: null,
    offer: null,
    ceiling: null,
  };
}
