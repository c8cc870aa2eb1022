import assert from "node:assert/strict";
import type { Address } from "@inference/protocol/credential";
import { DAY_MS } from "@inference/protocol/window";
import type { CeilingTerms, Command, Commands, Reply, ReplyOf } from "../commands.ts";
import type { Delivery } from "../delivery.ts";
import { isUnresolved } from "../hold-row.ts";
import { accountPartition, agentPartition, ceilingPartition, identityPartition, type Partition } from "../partition.ts";
import type { ReadRows, TableName, Tables } from "../tables.ts";
import { makeAuditor } from "./invariants.ts";
import { type Model, makeModel } from "./model.ts";
import type { Run } from "./operations.ts";

/**
 * A ledger with accounts and an identity that can pay, beside the model of it, and a clock: where `play` takes place.
 * Each command goes to the ledger and to the model, and every invariant is checked after it.
 */
export const accounts = [1, 2, 3, 4, 5, 6].map((n) => accountPartition(`0x${String(n).repeat(40)}`));
export const identity = identityPartition(`0x${"9".repeat(40)}`);
/** The agents that sell, by their tokens, and their identities. */
export const sellers = (["a", "b"] as const).map((digit): Address => `0x${digit.repeat(40)}`);
export const identities = [identity, ...sellers.map(agentPartition)];

type Placed<T extends TableName> = { partition: Partition; row: Tables[T] };

/**
 * Where a world is: each command is one commit, and what comes next is for the world to say. Each delivery is another,
 * unless the host makes it with its cause.
 */
export type WorldHost = {
  apply<C extends Command>(partition: Partition, command: C): ReplyOf<C> | Promise<ReplyOf<C>>;
  /** The rows as they are stored. */
  rows(partition: Partition): ReadRows;
  all<T extends TableName>(table: T): Placed<T>[];
  /** The deliveries that were made with the last command. */
  delivered?(): readonly Delivery[];
  /** Loses all that it keeps beside its rows. */
  crash?(): Promise<void>;
};
export type OpenHost = (clock: { now(): number }) => WorldHost | Promise<WorldHost>;

type KeyTerms = Pick<Commands["createKey"]["command"], "keyId" | "nonce" | "window"> & {
  /** Before it is scaled. */
  limit: number | null;
  expiresIn: number | null;
};

export type World = {
  readonly host: WorldHost;
  readonly model: Model;
  readonly clock: { now: number };
  /** Every command, and its reply. */
  readonly trace: string[];
  /** Every command that may come again. */
  readonly sent: readonly { partition: Partition; command: Command }[];
  apply<C extends Command>(partition: Partition, command: C): Promise<ReplyOf<C>>;
  createKey(account: Partition, terms: KeyTerms): Promise<void>;
  outbox(): Placed<"outbox">[];
  deliver(delivery: Placed<"outbox">, acknowledge: boolean): Promise<void>;
  deliverAll(): Promise<void>;
  /** The holds whose lease is over. */
  lapsed(): Placed<"hold">[];
  /** With everything over and delivered: that it is. */
  checkDrained(): void;
};

/** Everybody has what they begin with. */
export async function openWorld(
  { start, scale, ceiling }: Pick<Run, "start" | "scale" | "ceiling">,
  open: OpenHost,
): Promise<World> {
  const clock = { now: start };
  const trace: string[] = [];
  const sent: { partition: Partition; command: Command }[] = [];
  const model = makeModel();
  const host = await open({ now: () => clock.now });
  const auditor = makeAuditor(host, model);

  const world: World = {
    host,
    model,
    clock,
    trace,
    sent,
    async apply(partition, command) {
      const reply = await host.apply(partition, command);
      const context = `${partition} ${JSON.stringify(command)}`;
      trace.push(`${context} ${JSON.stringify(reply)}`);
      // What may be forgotten is looked up anew each time.
      if (command.type !== "forget") sent.push({ partition, command });
      const { wantedNanoUsd, leastNanoUsd = 0, ...answered } = reply as Reply & CeilingTerms;
      assert.deepEqual(answered, model.apply(partition, command, clock.now), context);
      if (wantedNanoUsd !== undefined && "id" in command) {
        model.asks(partition, String(command.id), wantedNanoUsd, leastNanoUsd);
      }
      // What is delivered in the same commit may be for the same partition.
      const delivered = (host.delivered?.() ?? []).map(({ target, command: caused }) => {
        return { target, caused, reply: model.apply(target, caused, clock.now) as Reply };
      });
      auditor.check(partition, command, reply);
      for (const made of delivered) auditor.check(made.target, made.caused, made.reply);
      return reply;
    },
    async createKey(account, { keyId, nonce, window, limit, expiresIn }) {
      await world.apply(account, {
        type: "createKey",
        at: clock.now,
        keyId,
        digest: `digest of ${keyId}`,
        label: "",
        name: keyId,
        window,
        limitNanoUsd: limit === null ? null : limit * scale,
        expiresAt: expiresIn === null ? null : clock.now + expiresIn,
        nonce,
        nonceExpiresAt: clock.now + 600_000,
      });
    },
    outbox: () => host.all("outbox"),
    async deliver({ partition, row: { id, target, command } }, acknowledge) {
      await world.apply(target, JSON.parse(command) as Command);
      if (acknowledge) await world.apply(partition, { type: "acknowledge", id });
    },
    async deliverAll() {
      for (let left = world.outbox(); left.length > 0; left = world.outbox()) {
        for (const delivery of left) await world.deliver(delivery, true);
      }
    },
    lapsed: () => host.all("hold").filter(({ row }) => isUnresolved(row) && row.leaseUntil < clock.now),
    checkDrained: auditor.checkDrained,
  };
  await endow(world, scale, ceiling);
  return world;
}

async function endow({ apply, createKey, clock: { now } }: World, scale: number, ceiling: number): Promise<void> {
  await apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: ceiling * scale });
  for (const partition of identities) {
    await apply(partition, {
      type: "openSession",
      at: now,
      digest: "session",
      address: "",
      agentToken: null,
      expiresAt: now + 3 * DAY_MS,
    });
    await apply(partition, { type: "setCapacity", at: now, limitNanoUsd: 300 * scale });
  }
  for (const agent of sellers) {
    const terms = { day: 0, shareBps: 8_000, nonce: 1, computer: "", owner: "" };
    await apply(agentPartition(agent), { type: "setOffer", at: now, hash: `first of ${agent}`, ...terms });
  }
  for (const [n, account] of accounts.entries()) {
    const amountNanoUsd = ([600, 150, 300, 1_000, 1_000][n] ?? 0) * scale;
    // The last one signs before anything has come, and often nothing ever does.
    if (amountNanoUsd > 0) await apply(account, { type: "credit", id: "1:9", at: now, amountNanoUsd, detail: "{}" });
    const window = n % 2 === 0 ? "month" : "day";
    const limit = n === 1 ? 250 : null;
    await createKey(account, { keyId: `first${n}`, nonce: `first nonce ${n}`, window, limit, expiresIn: null });
  }
}
