import type { Commands, ReserveReply } from "../messages/commands.ts";
import {
  accountPartition,
  ceilingPartition,
  chainPartition,
  identityPartition,
  type Partition,
} from "../messages/partition.ts";
import { answer } from "../messages/reads.ts";
import { type MemoryHost, openMemoryHost } from "./memory-host.ts";

/** One account with a balance and a key, one identity with a session and a capacity, and a ceiling; at noon. */
export const account = accountPartition(`0x${"1".repeat(40)}`);
export const identity = identityPartition(`0x${"9".repeat(40)}`);
export const chain = chainPartition(1);
export const noon = Date.UTC(2027, 5, 15, 12);
export const midnight = Date.UTC(2027, 5, 16);

export type Example = MemoryHost & { clock: { now: number; epoch: number } };

export function makeExample({ balance = 1_000, ceiling = 1_000_000, capacity = 100 } = {}): Example {
  const clock = { now: noon, epoch: 1 };
  const host = Object.assign(openMemoryHost({ now: () => clock.now, epoch: () => clock.epoch }), { clock });
  host.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: ceiling });
  host.apply(account, hear(balance));
  host.apply(account, createKey("key1"));
  host.apply(identity, openSession("session1"));
  host.apply(identity, { type: "setCapacity", at: noon, limitNanoUsd: capacity });
  return host;
}

type CommandOf<T extends keyof Commands> = Commands[T]["command"];

/** The answer of the chain to an account that activated so much. */
export function hear(activatedNanoUsd: number, more: Partial<CommandOf<"hear">> = {}): CommandOf<"hear"> {
  const totals = { replay: 1, activatedNanoUsd, debitedNanoUsd: 0, lastRoot: null, told: null };
  return { type: "hear", at: noon, epoch: 1, ...totals, ...more };
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

export const dueAtOnce = { postNanoUsd: 1, leastNanoUsd: 1, intervalMs: 0 };

/** Makes a statement of all that the account owes, and lets the account hear that it was debited. */
export function makeFinal(host: Example, root = "root"): void {
  const at = host.clock.now;
  const { settledNanoUsd, activatedNanoUsd, baseNanoUsd } = answer(host.rows(account), { type: "bill" });
  host.apply(account, { type: "seal", at, ...dueAtOnce });
  const named = { beforeNanoUsd: baseNanoUsd, afterNanoUsd: settledNanoUsd, root, parts: "[]" };
  host.apply(account, { type: "nameRoot", ...named });
  host.apply(account, hear(activatedNanoUsd, { at, epoch: null, debitedNanoUsd: settledNanoUsd, lastRoot: root }));
}

/** A reserve, with all that its shared limits have to be asked first. */
export function admit(host: MemoryHost, payer: Partition, command: CommandOf<"reserve">): ReserveReply {
  let reply = host.apply(payer, command);
  while (reply.status === "asks") {
    const answers = reply.asks.map(({ limit, command: ask }) => ({ limit, day: ask.day, ...host.apply(limit, ask) }));
    reply = host.apply(payer, { ...command, answers });
  }
  return reply;
}

export function reserve(
  id: string,
  amountNanoUsd: number,
  more: Partial<CommandOf<"reserve">> = {},
): CommandOf<"reserve"> {
  const payer = { kind: "key", digest: "digest of key1" } as const;
  return { type: "reserve", id, at: noon, amountNanoUsd, leaseMs: 900_000, payer, detail: "{}", ...more };
}

export const bySession = { payer: { kind: "session", digest: "session1" } } as const;

export function settle(id: string, chargeNanoUsd: number): CommandOf<"settle"> {
  return { type: "settle", id, at: noon, chargeNanoUsd, lossNanoUsd: 0, detail: "{}", snapshot: "00" };
}

export function release(id: string): CommandOf<"release"> {
  return { type: "release", id, at: noon, lossNanoUsd: 0, detail: "{}" };
}

/** A refusal's figures. */
export function refusalOf(reply: ReserveReply): unknown[] {
  if (reply.status !== "refused") return [reply.status];
  const { budget, cause, neededNanoUsd, availableNanoUsd, window, resetsAt } = reply.refusal;
  return [budget, cause, neededNanoUsd, availableNanoUsd, window, resetsAt];
}
