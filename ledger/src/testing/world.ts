import assert from "node:assert/strict";
import type { Address } from "@inference/protocol/credential";
import { DAY_MS } from "@inference/protocol/window";
import type { Command, Commands, KeyTerms, Reply, ReplyOf } from "../messages/commands.ts";
import type { Delivery } from "../messages/delivery.ts";
import {
  accountPartition,
  agentPartition,
  ceilingPartition,
  chainPartition,
  identityPartition,
  type Partition,
  partitionAddress,
} from "../messages/partition.ts";
import { isHold, type ReadRows, type TableName, type Tables } from "../rows/tables.ts";
import { makeAuditor } from "./invariants.ts";
import type { PartitionCopy } from "./memory-host.ts";
import { ADMISSIBLE, type BookCopy, type Model, makeModel } from "./model.ts";
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
export const chain = chainPartition(1);

type Placed<T extends TableName> = { partition: Partition; row: Tables[T] };

/** A world's host: each command is one commit. Each delivery is another, unless the host makes it with its cause. */
export type WorldHost = {
  apply<C extends Command>(partition: Partition, command: C): ReplyOf<C> | Promise<ReplyOf<C>>;
  /** The rows as they are stored. */
  rows(partition: Partition): ReadRows;
  all<T extends TableName>(table: T): Placed<T>[];
  /** The deliveries that were made with the last command. */
  delivered?(): readonly Delivery[];
  /** Loses everything but its rows. */
  crash?(): Promise<void>;
  /** A copy of all rows of a partition, and such a copy put back. Absent: no copy is put back. */
  copy?(partition: Partition): PartitionCopy;
  putBack?(partition: Partition, copy: PartitionCopy): void;
};
/** @param state The clock, and the epoch of a partition, which changes when a copy is put back. */
export type OpenHost = (state: {
  now(): number;
  epoch(partition: Partition): number;
}) => WorldHost | Promise<WorldHost>;

type NewKey = Pick<Commands["createKey"]["command"], "keyId" | "nonce" | "window"> & {
  /** Before it is scaled. */
  limit: number | null;
  expiresIn: number | null;
  terms?: KeyTerms;
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
  /** The account activates on chain, and its partition is told by the chain's. */
  activate(account: Partition, amountToken: number): Promise<void>;
  createKey(account: Partition, terms: NewKey): Promise<void>;
  outbox(): Placed<"outbox">[];
  deliver(delivery: Placed<"outbox">, acknowledge: boolean): Promise<void>;
  deliverAll(): Promise<void>;
  /** The holds whose lease is over. */
  lapsed(): Placed<"receipt">[];
  copy(partition: Partition): void;
  /** Puts one of the copies back. Answers whether there was one. */
  putBack(partition: Partition, which: number): boolean;
  /** With everything over and delivered: that it is. */
  checkDrained(): void;
};

export async function openWorld(
  { start, scale, ceiling }: Pick<Run, "start" | "scale" | "ceiling">,
  open: OpenHost,
): Promise<World> {
  const clock = { now: start };
  const trace: string[] = [];
  const sent: { partition: Partition; command: Command }[] = [];
  const model = makeModel();
  const epochs = new Map<Partition, number>();
  const epochOf = (partition: Partition) => epochs.get(partition) ?? 1;
  const host = await open({ now: () => clock.now, epoch: epochOf });
  const auditor = makeAuditor(host, model, clock);
  const copies = new Map<Partition, { rows: PartitionCopy; book: BookCopy }[]>();
  const activated = new Map<string, number>();
  let lastActivation = { id: 0, total: 0 };

  /** The model's answer to a command that the host makes or made. */
  const expectedOf = (partition: Partition, command: Command): unknown =>
    model.apply(partition, command, { clock: clock.now, epoch: epochOf(partition) });

  /** The auditor compares the amount that is left, after the command. */
  function compare(partition: Partition, command: Command, told: Reply, expected: unknown): void {
    const { availableNanoUsd: _, ...reply } = told as Reply & { availableNanoUsd?: number };
    const context = `${partition} ${JSON.stringify(command)}`;
    if (expected === undefined) return;
    const isDeaf = "status" in reply && reply.status === "unheard";
    // A limit's answer told the account that it is an older copy.
    if (isDeaf && command.type === "reserve" && (command.answers?.length ?? 0) > 0 && epochOf(partition) > 1) {
      model.unhear(partition);
      return;
    }
    if (expected !== ADMISSIBLE || command.type !== "reserve" || !("status" in reply)) {
      assert.deepEqual(reply, expected, context);
      return;
    }
    if (reply.status === "reserved") model.admit(partition, command);
    else if (reply.status === "refused") {
      const refusals = (command.answers ?? []).map(({ refusal }) => JSON.stringify(refusal));
      assert.ok(refusals.includes(JSON.stringify(reply.refusal)), context);
    } else assert.equal(reply.status, "asks", context);
  }

  const world: World = {
    host,
    model,
    clock,
    trace,
    sent,
    async apply(partition, command) {
      const expected = expectedOf(partition, command);
      const reply = await host.apply(partition, command);
      trace.push(`${partition} ${JSON.stringify(command)} ${JSON.stringify(reply)}`);
      // The rows to forget are looked up each time.
      if (command.type !== "forget") sent.push({ partition, command });
      compare(partition, command, reply, expected);
      // The same commit may deliver to the same partition.
      const delivered = (host.delivered?.() ?? []).map((made) => {
        return { ...made, reply: expectedOf(made.target, made.command) as Reply };
      });
      auditor.check(partition, command, reply);
      for (const made of delivered) auditor.check(made.target, made.command, made.reply);
      return reply;
    },
    async activate(account, amountToken) {
      const address = partitionAddress(account);
      const accountActivatedNanoUsd = (activated.get(address) ?? 0) + amountToken * 1_000;
      activated.set(address, accountActivatedNanoUsd);
      lastActivation = { id: lastActivation.id + 1, total: lastActivation.total + amountToken };
      const { id, total } = lastActivation;
      const activation = { id, account: address, amountToken: String(amountToken), totalActivated: String(total) };
      const event = { ...activation, accountActivatedNanoUsd, block: id, transaction: "0x" };
      const block = { block: id, blockHash: `0x${id}`, activations: [event], chunks: [] };
      await world.apply(chain, { type: "advance", at: clock.now, ...block });
    },
    async createKey(account, { keyId, nonce, window, limit, expiresIn, terms }) {
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
        ...terms,
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
    lapsed: () => host.all("receipt").filter(({ row }) => isHold(row) && row.leaseUntil < clock.now),
    copy(partition) {
      if (host.copy === undefined) return;
      const copy = { rows: host.copy(partition), book: model.copy(partition) };
      copies.set(partition, [...(copies.get(partition) ?? []), copy]);
    },
    putBack(partition, which) {
      const known = copies.get(partition) ?? [];
      const copy = known[which % Math.max(1, known.length)];
      if (copy === undefined || host.putBack === undefined) return false;
      host.putBack(partition, copy.rows);
      model.putBack(partition, copy.book);
      epochs.set(partition, epochOf(partition) + 1);
      auditor.putBack(partition);
      trace.push(`${partition} put back`);
      return true;
    },
    checkDrained: auditor.checkDrained,
  };
  await endow(world, scale, ceiling);
  return world;
}

/** Everybody gets what they begin with. */
async function endow(world: World, scale: number, ceiling: number): Promise<void> {
  const { apply, createKey, clock } = world;
  const { now } = clock;
  await apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: ceiling * scale });
  await apply(chain, { type: "reread", at: now, readyFrom: 0 });
  for (const partition of identities) {
    const session = { digest: "session", address: "", agentToken: null, expiresAt: now + 3 * DAY_MS };
    await apply(partition, { type: "openSession", at: now, ...session });
    await apply(partition, { type: "setCapacity", at: now, limitNanoUsd: 300 * scale });
  }
  for (const agent of sellers) {
    const terms = { day: 0, shareBps: 8_000, nonce: 1, computer: "", owner: "" };
    await apply(agentPartition(agent), { type: "setOffer", at: now, hash: `first of ${agent}`, ...terms });
  }
  for (const [n, account] of accounts.entries()) {
    const amount = [600, 150, 300, 1_000, 1_000][n] ?? 0;
    // The last one signs before anything has come, and often nothing ever does.
    if (amount > 0) await world.activate(account, tokensOf(amount * scale));
    const window = n % 2 === 0 ? "month" : "day";
    const limit = n === 1 ? 250 : null;
    await createKey(account, { keyId: `first${n}`, nonce: `first nonce ${n}`, window, limit, expiresIn: null });
  }
  await world.deliverAll();
}

/** Token units of at least this amount. */
export function tokensOf(amountNanoUsd: number): number {
  return Math.ceil(amountNanoUsd / 1_000);
}
