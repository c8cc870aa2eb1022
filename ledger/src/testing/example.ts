import type { Commands, ReplyOf } from "../commands.ts";
import { accountPartition, ceilingPartition, identityPartition } from "../partition.ts";
import { type MemoryHost, openMemoryHost } from "./memory-host.ts";

/** One account with a balance and a key, one identity with a session and a capacity, and a ceiling; at noon. */
export const account = accountPartition(`0x${"1".repeat(40)}`);
export const identity = identityPartition(`0x${"9".repeat(40)}`);
export const noon = Date.UTC(2027, 5, 15, 12);
export const midnight = Date.UTC(2027, 5, 16);

export type Example = MemoryHost & { clock: { now: number } };

export function makeExample({ balance = 1_000, ceiling = 10_000, capacity = 100 } = {}): Example {
  const clock = { now: noon };
  const host = Object.assign(openMemoryHost({ now: () => clock.now }), { clock });
  host.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: ceiling });
  host.apply(account, credit("1:1", balance));
  host.apply(account, createKey("key1"));
  host.apply(identity, openSession("session1"));
  host.apply(identity, { type: "setCapacity", at: noon, limitNanoUsd: capacity });
  return host;
}

type CommandOf<T extends keyof Commands> = Commands[T]["command"];

export function credit(id: string, amountNanoUsd: number): CommandOf<"credit"> {
  return { type: "credit", id, at: noon, amountNanoUsd, detail: "{}" };
}

export function createKey(keyId: string, terms: Partial<CommandOf<"createKey">> = {}): CommandOf<"createKey"> {
  return {
    type: "createKey",
    at: noon,
    keyId,
    digest: `digest of ${keyId}`,
    label: "ik_0000...0000",
    name: keyId,
    window: "lifetime",
    limitNanoUsd: null,
    expiresAt: null,
    nonce: `nonce of ${keyId}`,
    nonceExpiresAt: noon + 600_000,
    ...terms,
  };
}

export function openSession(digest: string): CommandOf<"openSession"> {
  return { type: "openSession", at: noon, digest, address: "0x", agentToken: null, expiresAt: noon + 86_400_000 };
}

export function reserve(
  id: string,
  amountNanoUsd: number,
  more: Partial<CommandOf<"reserve">> = {},
): CommandOf<"reserve"> {
  const payer = { kind: "key", digest: "digest of key1" } as const;
  return {
    type: "reserve",
    id,
    at: noon,
    amountNanoUsd,
    leaseMs: 900_000,
    payer,
    followers: [ceilingPartition],
    detail: "{}",
    ...more,
  };
}

export const bySession = { payer: { kind: "session", digest: "session1" }, followers: [] } as const;

export function reserveCeiling(
  id: string,
  amountNanoUsd: number,
  more: Partial<CommandOf<"reserveCeiling">> = {},
): CommandOf<"reserveCeiling"> {
  return { type: "reserveCeiling", id, at: noon, amountNanoUsd, leaseMs: 900_000, owner: account, ...more };
}

export function settle(id: string, chargeNanoUsd: number): CommandOf<"settle"> {
  return { type: "settle", id, at: noon, chargeNanoUsd, lossNanoUsd: 0, detail: "{}" };
}

export function release(id: string): CommandOf<"release"> {
  return { type: "release", id, at: noon, lossNanoUsd: 0, detail: "" };
}

export function follow(id: string, chargeNanoUsd: number | null): CommandOf<"follow"> {
  return { type: "follow", id, chargeNanoUsd };
}

/** What a refusal says, without the words around it. */
export function refusalOf(reply: ReplyOf<CommandOf<"reserve">>): unknown[] {
  if (reply.status !== "refused") return [reply.status];
  const { budget, cause, neededNanoUsd, availableNanoUsd, window, resetsAt } = reply.refusal;
  return [budget, cause, neededNanoUsd, availableNanoUsd, window, resetsAt];
}
