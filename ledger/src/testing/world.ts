import assert from "node:assert/strict";
import { DAY_MS, windowEnd } from "@inference/protocol/window";
import type { Claim, Command, Commands, Payer, Reply, ReplyOf } from "../commands.ts";
import type { Delivery } from "../delivery.ts";
import { askOwner } from "../follower.ts";
import { accountPartition, ceilingPartition, identityPartition, type Partition } from "../partition.ts";
import { type Saga, type Step, send } from "../saga.ts";
import type { HoldRow, ReadRows, TableName, Tables } from "../tables.ts";
import { makeAuditor } from "./invariants.ts";
import { makeModel } from "./model.ts";
import type { ClaimTerms, Operation, Run } from "./operations.ts";

/**
 * Everything that can happen to the ledger: accounts and an identity that spend, sagas that stop, deliveries late and
 * twice, commands again and in conflict, and time. Each command goes to the ledger and to the model, and every invariant
 * is checked after it. The same operations make the same trace.
 */
export const accounts = [1, 2, 3, 4, 5, 6].map((n) => accountPartition(`0x${String(n).repeat(40)}`));
const identity = identityPartition(`0x${"9".repeat(40)}`);
const owners = [...accounts, identity];

/**
 * Where a world is: each command is one commit, and what comes next is for the world to say. Each delivery is another,
 * unless the host makes it with its cause.
 */
export type WorldHost = {
  apply<C extends Command>(partition: Partition, command: C): ReplyOf<C> | Promise<ReplyOf<C>>;
  /** The rows as they are stored. */
  rows(partition: Partition): ReadRows;
  all<T extends TableName>(table: T): { partition: Partition; row: Tables[T] }[];
  /** The deliveries that were made with the last command. */
  delivered?(): readonly Delivery[];
  /** Loses all that it keeps beside its rows. */
  crash?(): Promise<void>;
};
export type OpenHost = (clock: { now(): number }) => WorldHost | Promise<WorldHost>;

/** A saga under way, and the command it waits for. */
type Running = { id: string; saga: Saga<boolean>; next: IteratorResult<Step, boolean> };

/** Runs the operations, then ends everything that is open. Answers every command with its reply. */
export async function play({ start, scale, operations }: Run, open: OpenHost): Promise<string[]> {
  let now = start;
  let made = 0;
  let named = 0;
  let rolled = 0;
  let running: Running[] = [];
  const trace: string[] = [];
  const sent: { partition: Partition; command: Command }[] = [];
  const admitted = new Set<string>();
  const model = makeModel();
  const host = await open({ now: () => now });
  const auditor = makeAuditor(host, model);

  async function apply<C extends Command>(partition: Partition, command: C): Promise<ReplyOf<C>> {
    const reply = await host.apply(partition, command);
    const context = `${partition} ${JSON.stringify(command)}`;
    trace.push(`${context} ${JSON.stringify(reply)}`);
    // What may be forgotten is looked up anew each time.
    if (command.type !== "forget") sent.push({ partition, command });
    assert.deepEqual(reply, model.apply(partition, command, now), context);
    auditor.check(partition, command, reply);
    for (const { target, command: caused } of host.delivered?.() ?? []) {
      auditor.check(target, caused, model.apply(target, caused, now) as Reply);
    }
    return reply;
  }

  const outbox = () => host.all("outbox");
  const pick = <T>(list: readonly T[], at: number): T | undefined => list[at % Math.max(1, list.length)];
  const holdOf = (which: number): { partition: Partition; row: HoldRow } | undefined =>
    pick(
      host.all("hold").filter(({ partition }) => partition !== ceilingPartition),
      which,
    );

  function begin(id: string, saga: Saga<boolean>): Running {
    return { id, saga, next: saga.next() };
  }

  /** Takes a saga one commit further. False once it is over. */
  async function advance(entry: Running): Promise<boolean> {
    if (!entry.next.done)
      entry.next = entry.saga.next(await apply(entry.next.value.partition, entry.next.value.command));
    return !entry.next.done;
  }

  async function step(index: number): Promise<void> {
    const entry = running[index];
    if (entry === undefined || (await advance(entry))) return;
    if (entry.next.value === true) admitted.add(entry.id);
    running.splice(index, 1);
  }

  async function deliver(delivery: ReturnType<typeof outbox>[number], acknowledge: boolean): Promise<void> {
    const { id, target, command } = delivery.row;
    await apply(target, JSON.parse(command) as Command);
    if (acknowledge) await apply(delivery.partition, { type: "acknowledge", id });
  }

  async function deliverAll(): Promise<void> {
    for (let left = outbox(); left.length > 0; left = outbox()) {
      for (const delivery of left) await deliver(delivery, true);
    }
  }

  async function request(
    owner: Partition,
    payer: Payer,
    amountNanoUsd: number,
    at: number,
    steps: number,
    claimed: ClaimTerms | null = null,
  ): Promise<void> {
    made += 1;
    const id = requestName(made);
    const followers = payer.kind === "key" ? [ceilingPartition] : [];
    const reserve: Commands["reserve"]["command"] = {
      type: "reserve",
      id,
      at,
      amountNanoUsd,
      leaseMs: 900_000,
      payer,
      followers,
      detail: "{}",
      ...(claimed === null ? {} : { claim: claimOf(claimed, at) }),
    };
    running.push(begin(id, reserving(owner, reserve)));
    for (let left = steps; left > 0; left--) await step(running.findIndex((entry) => entry.id === id));
  }

  async function resolve(operation: { op: "release" | "orphan"; which: number }): Promise<void> {
    const hold = holdOf(operation.which);
    if (hold === undefined) return;
    const { id } = hold.row;
    if (operation.op === "release")
      await apply(hold.partition, { type: "release", id, at: now, lossNanoUsd: 0, detail: "" });
    else await apply(hold.partition, { type: "orphan", id, at: now, graceMs: 900_000 });
  }

  /** A late duplicate of anything ever sent. */
  async function again(which: number): Promise<void> {
    const entry = pick(sent, which);
    if (entry !== undefined) await apply(entry.partition, entry.command);
  }

  async function conflict(which: number, amountNanoUsd: number): Promise<void> {
    const entry = pick(
      sent.filter(({ command }) => command.type === "reserve" || command.type === "reserveCeiling"),
      which,
    );
    if (entry === undefined || !("id" in entry.command)) return;
    // Of an id that is unknown there, it would be another first.
    if (model.find(entry.partition, entry.command.id) === undefined) return;
    await apply(entry.partition, { ...entry.command, amountNanoUsd: amountNanoUsd * scale } as Command);
  }

  async function perform(operation: Operation): Promise<void> {
    switch (operation.op) {
      case "nothing":
        return;
      case "request": {
        const owner = operation.kind === "session" ? identity : (pick(accounts, operation.who) ?? identity);
        const mine = model.keys().filter(({ account }) => account === owner);
        const digest = operation.kind === "session" ? "session" : (pick(mine, operation.key)?.digest ?? "no such key");
        await request(
          owner,
          { kind: operation.kind, digest },
          operation.amount * scale,
          now + operation.skew,
          operation.steps,
          operation.claim,
        );
        return;
      }
      case "burst": {
        const owner = pick(accounts, operation.who) ?? identity;
        const digest =
          pick(
            model.keys().filter(({ account }) => account === owner),
            operation.key,
          )?.digest ?? "";
        for (let left = 33; left > 0; left--) await request(owner, { kind: "key", digest }, operation.amount, now, 3);
        return;
      }
      case "rush":
        for (const account of accounts) {
          const digest = model.keys().find((key) => key.account === account)?.digest ?? "";
          await request(account, { kind: "key", digest }, operation.amount * scale, now, 3);
        }
        return;
      case "step":
        await step(operation.which % Math.max(1, running.length));
        return;
      case "crash":
        running = [];
        await host.crash?.();
        return;
      case "settle": {
        const hold = holdOf(operation.which);
        if (hold === undefined || !admitted.has(hold.row.id)) return;
        const { id, amountNanoUsd: held } = hold.row;
        const chargeNanoUsd =
          { zero: 0, one: Math.min(1, held), half: Math.ceil(held / 2), all: held, over: held + 1 }[operation.charge] ??
          0;
        await apply(hold.partition, { type: "settle", id, at: now, chargeNanoUsd, lossNanoUsd: 0, detail: "{}" });
        return;
      }
      case "release":
      case "orphan":
        await resolve(operation);
        return;
      case "checkpoint": {
        const hold = holdOf(operation.which);
        if (hold === undefined || !admitted.has(hold.row.id)) return;
        const deliveredNanoUsd = operation.amount * scale;
        await apply(hold.partition, { type: "checkpoint", id: hold.row.id, deliveredNanoUsd, upstreamId: null });
        return;
      }
      case "sweep": {
        const hold = pick(
          lapsed().filter(({ partition }) => partition === ceilingPartition),
          operation.which,
        );
        if (hold === undefined) return;
        const { id, owner } = hold.row;
        running.push(begin(`sweep of ${id}`, asking({ id, owner }, now)));
        return;
      }
      case "inquire":
        // The next request of that name comes too late.
        await apply(pick(owners, operation.who) ?? identity, { type: "inquire", id: requestName(made + 1), at: now });
        return;
      case "deliver": {
        const delivery = pick(outbox(), operation.which);
        if (delivery !== undefined) await deliver(delivery, operation.acknowledge);
        return;
      }
      case "repeat":
        await again(operation.which);
        return;
      case "conflict":
        await conflict(operation.which, operation.amount);
        return;
      case "credit":
        await apply(pick(accounts, operation.who) ?? identity, {
          type: "credit",
          id: `1:${operation.id}`,
          at: now,
          amountNanoUsd: operation.amount * scale,
          detail: "{}",
        });
        return;
      case "createKey": {
        const { window, limit, expiresIn, nonce } = operation;
        named += 1;
        const keyId = `key${named}`;
        const account = pick(accounts, operation.who) ?? identity;
        await createKey(
          account,
          keyId,
          nonce % 7 === 0 ? (pick(model.keys(), nonce)?.nonce ?? "n") : `nonce of ${keyId}`,
          window,
          limit,
          expiresIn,
        );
        return;
      }
      case "updateKey": {
        const key = pick(model.keys(), operation.key);
        if (key === undefined) return;
        const { limit, disabled } = operation;
        await apply(key.account, {
          type: "updateKey",
          keyId: key.keyId,
          ...(limit === null ? {} : { limitNanoUsd: limit * scale }),
          ...(disabled === null ? {} : { disabled }),
        });
        return;
      }
      case "rollKey": {
        const key = pick(model.keys(), operation.key);
        if (key === undefined) return;
        rolled += 1;
        const nonce = operation.nonce % 7 === 0 ? key.nonce : `nonce of roll ${rolled}`;
        const secret = { digest: `digest of roll ${rolled}`, label: "", nonce, nonceExpiresAt: now + 600_000 };
        await apply(key.account, { type: "rollKey", at: now, keyId: key.keyId, ...secret });
        return;
      }
      case "revokeKey": {
        const key = pick(model.keys(), operation.key);
        if (key !== undefined) await apply(key.account, { type: "revokeKey", at: now, keyId: key.keyId });
        return;
      }
      case "setCeiling":
        await apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: operation.amount * scale });
        return;
      case "setCapacity":
        await apply(identity, {
          type: "setCapacity",
          at: now - operation.daysAgo * DAY_MS,
          limitNanoUsd: operation.amount * scale,
        });
        return;
      case "revokeSession":
        await apply(identity, { type: "revokeSession", at: now, digest: "session" });
        return;
      case "tick":
        now = ticked(now, operation.by);
        return;
      case "forget": {
        await forget(operation.table);
      }
    }
  }

  /** As a job does it: in every partition that has such rows. */
  async function forget(table: "hold" | "key" | "session"): Promise<void> {
    const waiting = new Set(outbox().map(({ row }) => row.id.split(">")[0]));
    const rows = host.all(table).filter(({ row }) => table !== "hold" || !waiting.has(row.id));
    for (const [partition, entries] of Map.groupBy(rows, (entry) => entry.partition)) {
      await apply(partition, { type: "forget", at: now, table, ids: entries.map(({ row }) => row.id) });
    }
  }

  async function createKey(
    account: Partition,
    keyId: string,
    nonce: string,
    window: "day" | "month" | "lifetime",
    limit: number | null,
    expiresIn: number | null,
  ): Promise<void> {
    await apply(account, {
      type: "createKey",
      at: now,
      keyId,
      digest: `digest of ${keyId}`,
      label: "",
      name: keyId,
      window,
      limitNanoUsd: limit === null ? null : limit * scale,
      expiresAt: expiresIn === null ? null : now + expiresIn,
      nonce,
      nonceExpiresAt: now + 600_000,
    });
  }

  function lapsed(): { partition: Partition; row: HoldRow }[] {
    return host
      .all("hold")
      .filter(({ row }) => (row.state === "open" || row.state === "orphaned") && row.leaseUntil < now);
  }

  /** What is left to the sweeper once nobody works on anything any more. */
  async function drain(): Promise<void> {
    running = [];
    now += 20 * 60_000;
    for (const { partition, row } of lapsed().filter((hold) => hold.partition !== ceilingPartition)) {
      await apply(partition, { type: "orphan", id: row.id, at: now, graceMs: 900_000 });
      const end = { id: row.id, at: now, lossNanoUsd: 0, detail: "" };
      if (row.deliveredNanoUsd === 0) await apply(partition, { type: "release", ...end });
      else await apply(partition, { type: "settle", ...end, chargeNanoUsd: row.deliveredNanoUsd });
    }
    await deliverAll();
    for (const { row } of lapsed()) {
      const saga = begin(`sweep of ${row.id}`, asking(row, now));
      while (await advance(saga));
    }
    await deliverAll();
    auditor.checkDrained();
  }

  await apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: 1_000 * scale });
  await apply(identity, {
    type: "openSession",
    at: now,
    digest: "session",
    address: "",
    agentToken: null,
    expiresAt: now + 3 * DAY_MS,
  });
  await apply(identity, { type: "setCapacity", at: now, limitNanoUsd: 300 * scale });
  for (const [n, account] of accounts.entries()) {
    const amountNanoUsd = ([600, 150, 300, 1_000, 1_000][n] ?? 0) * scale;
    // The last one signs before anything has come, and often nothing ever does.
    if (amountNanoUsd > 0) await apply(account, { type: "credit", id: "1:9", at: now, amountNanoUsd, detail: "{}" });
    const window = n % 2 === 0 ? "month" : "day";
    await createKey(account, `first${n}`, `first nonce ${n}`, window, n === 1 ? 250 : null, null);
  }
  for (const operation of operations) await perform(operation);
  await drain();
  return trace;
}

/** Most requests under a name ask for the same. */
function claimOf({ name, body }: ClaimTerms, at: number): Claim {
  return { id: `claim ${name}`, fingerprint: body === 0 ? "another body" : "the body", expiresAt: at + DAY_MS };
}

function* reserving(owner: Partition, reserve: Commands["reserve"]["command"]): Saga<boolean> {
  const { id, at, amountNanoUsd, leaseMs, followers } = reserve;
  const reply = yield* send(owner, reserve);
  if (reply.status !== "reserved") return false;
  for (const follower of followers) {
    const followed = yield* send(follower, { type: "reserveCeiling", id, at, amountNanoUsd, leaseMs, owner });
    if (followed.status === "reserved") continue;
    yield* send(owner, { type: "release", id, at, lossNanoUsd: 0, detail: "" });
    return false;
  }
  return true;
}

/** A sweep admits nothing. */
function* asking(hold: { id: string; owner: Partition }, at: number): Saga<boolean> {
  yield* askOwner(ceilingPartition, hold, at);
  return false;
}

function requestName(number: number): string {
  return `req_${String(number).padStart(4, "0")}`;
}

function ticked(now: number, by: string): number {
  if (by === "midnight") return windowEnd("day", now) ?? now;
  if (by === "before midnight") return (windowEnd("day", now) ?? now) - 1;
  if (by === "month") return windowEnd("month", now) ?? now;
  return now + Number(by);
}
