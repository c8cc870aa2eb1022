import type { Gateway } from "@inference/gateway/gateway";
import { forgetAll } from "@inference/gateway/jobs/forget";
import { orphanAll, sweep } from "@inference/gateway/jobs/sweep";
import type { LedgerClient } from "@inference/ledger/client";
import type { Command, PayerCredential } from "@inference/ledger/commands";
import { accountPartition, ceilingPartition, chainPartition, identityPartition } from "@inference/ledger/partition";
import { reserveRequest } from "@inference/ledger/reservation";
import { send } from "@inference/ledger/saga";
import { createKey } from "@inference/ledger/testing/example";
import { makeQuietGateway } from "./quiet-gateway.ts";

/**
 * A life of the ledger in few steps: every kind of command that changes something, each step awaited before the next.
 * Ids and times are fixed, so that two runs write the same rows, and a step may be done again.
 */
export type Step = { name: string; hours: number; run(gateway: Gateway): Promise<unknown> };

const NOON = Date.UTC(2026, 0, 15, 12);
const alice = `0x${"a".repeat(40)}` as const;
const bob = `0x${"b".repeat(40)}` as const;
const keyPayer: PayerCredential = { kind: "key", digest: "alices-digest" };
const detail = JSON.stringify({ route: "chat", model: "m", snapshot: "s", stream: true });

export const steps: readonly Step[] = [
  one("the ceiling", ceilingPartition, { type: "setCeiling", limitNanoUsd: 1_000 }),
  one("a reading of the chain", chainPartition(1), { type: "reread", at: NOON, readyFrom: 10 }),
  one("two activations", chainPartition(1), {
    type: "advance",
    at: NOON,
    block: 10,
    blockHash: "0x10",
    activations: [activation(1, alice, "5", "5", 5_000), activation(2, bob, "7", "12", 7_000)],
    chunks: [],
  }),
  one("an activation more", chainPartition(1), {
    type: "advance",
    at: NOON,
    block: 11,
    blockHash: "0x11",
    activations: [activation(3, alice, "1", "13", 6_000)],
    chunks: [],
  }),
  key("a key", "alices-key", "alices-digest", null),
  key("a key with a limit", "alices-small-key", "alices-small-digest", 50),
  one("a nonce", accountPartition(alice), {
    type: "consumeNonce",
    at: NOON,
    nonce: "nonce-1",
    expiresAt: NOON,
    digest: "session",
  }),
  one("a session", identityPartition(bob), {
    type: "openSession",
    at: NOON,
    digest: "bobs-session",
    address: bob,
    agentToken: null,
    expiresAt: NOON + 1_000_000,
  }),
  one("a capacity", identityPartition(bob), { type: "setCapacity", at: NOON, limitNanoUsd: 500 }),
  reserve("r1", 100),
  one("a checkpoint", accountPartition(alice), {
    type: "checkpoint",
    id: "r1",
    deliveredNanoUsd: 10,
    upstreamId: "u1",
  }),
  settle("r1", accountPartition(alice), 60),
  reserve("r2", 100),
  one("a release", accountPartition(alice), { type: "release", id: "r2", at: NOON, lossNanoUsd: 5, detail }),
  reserve("refused by the ceiling", 201),
  reserve("refused by the key", 51, { kind: "key", digest: "alices-small-digest" }),
  {
    name: "three requests in one turn",
    hours: 0,
    run: (gateway) => Promise.all(["r3", "r4", "r5"].map((id) => reserve(id, 40).run(gateway))),
  },
  one("what is left of r3", accountPartition(alice), {
    type: "checkpoint",
    id: "r3",
    deliveredNanoUsd: 25,
    upstreamId: null,
  }),
  reserve("by a session", 300, { kind: "session", digest: "bobs-session" }),
  settle("by a session", identityPartition(bob), 299),
  {
    name: "the sweeper orphans",
    hours: 1,
    run: async (gateway) => orphanAll(gateway, await gateway.environment.ledger.lapsedHolds(NOON + 10_000_000, 100)),
  },
  { name: "the sweeper settles and releases", hours: 2, run: (gateway) => sweep(gateway) },
  one("a statement", accountPartition(alice), {
    ...{ type: "seal", at: NOON, postNanoUsd: 1, leastNanoUsd: 1, intervalMs: 0 },
  }),
  one("a lowered key", accountPartition(alice), { type: "updateKey", keyId: "alices-small-key", limitNanoUsd: 1 }),
  one("a revoked key", accountPartition(alice), { type: "revokeKey", at: NOON, keyId: "alices-key" }),
  one("a revoked session", identityPartition(bob), { type: "revokeSession", at: NOON, digest: "bobs-session" }),
  { name: "what is over is forgotten", hours: 60, run: (gateway) => forgetAll(gateway, new AbortController().signal) },
];

/** Runs the steps from one on, telling of each when it is done. */
export async function runScript(
  ledger: LedgerClient,
  clock: { time: number },
  from: number,
  onDone: (step: number) => void,
) {
  const gateway = makeQuietGateway(ledger, clock);
  for (const [index, step] of steps.entries()) {
    if (index < from) continue;
    clock.time = NOON + step.hours * 3_600_000;
    await step.run(gateway);
    onDone(index);
  }
}

function one(name: string, partition: string, command: Command): Step {
  return { name, hours: 0, run: ({ environment }) => environment.ledger.run(() => send(partition, command)) };
}

function reserve(id: string, amountNanoUsd: number, payer: PayerCredential = keyPayer): Step {
  const owner = payer.kind === "key" ? accountPartition(alice) : identityPartition(bob);
  const chain = chainPartition(1);
  const reservation = { id, at: NOON, owner, payer, amountNanoUsd, leaseMs: 900_000, detail, chain };
  return { name: id, hours: 0, run: ({ environment }) => environment.ledger.run(() => reserveRequest(reservation)) };
}

function settle(id: string, partition: string, chargeNanoUsd: number): Step {
  return one(`${id} settled`, partition, {
    type: "settle",
    id,
    at: NOON,
    chargeNanoUsd,
    lossNanoUsd: 0,
    detail,
    snapshot: "s",
  });
}

function key(name: string, keyId: string, digest: string, limitNanoUsd: number | null): Step {
  const terms = { at: NOON, digest, name, window: "day", limitNanoUsd, nonceExpiresAt: NOON } as const;
  return one(name, accountPartition(alice), createKey(keyId, terms));
}

function activation(
  id: number,
  account: string,
  amountToken: string,
  totalActivated: string,
  accountActivatedNanoUsd: number,
) {
  return { id, account, amountToken, totalActivated, accountActivatedNanoUsd, block: 9, transaction: `0x${id}` };
}
