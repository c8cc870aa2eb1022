import assert from "node:assert/strict";
import { DAY_MS, windowEnd } from "@inference/protocol/window";
import fc from "fast-check";
import type { Claim, Command, Commands, Payer, ReplyOf } from "../commands.ts";
import { askOwner } from "../follower.ts";
import { accountPartition, ceilingPartition, identityPartition, type Partition } from "../partition.ts";
import { type Saga, send } from "../saga.ts";
import type { HoldRow } from "../tables.ts";
import { makeAuditor } from "./invariants.ts";
import { openMemoryHost, type RunningSaga } from "./memory-host.ts";
import { makeModel } from "./model.ts";

/**
 * Everything that can happen to the ledger, as data: accounts and an identity that spend, sagas that stop, deliveries
 * late and twice, commands again and in conflict, and time. Each command goes to the ledger and to the model, and every
 * invariant is checked after it. The same operations make the same trace.
 */
export const accounts = [1, 2, 3, 4, 5, 6].map((n) => accountPartition(`0x${String(n).repeat(40)}`));
const identity = identityPartition(`0x${"9".repeat(40)}`);
const owners = [...accounts, identity];

export const starts = [
  "2028-02-28T23:50:00.000Z",
  "2028-02-29T23:59:59.999Z",
  "2027-02-28T23:58:00.000Z",
  "2026-12-31T23:59:30.000Z",
  "2026-06-15T12:00:00.000Z",
].map((text) => Date.parse(text));

const amount = fc.constantFrom(0, 1, 10, 50, 99, 100, 150, 199, 200, 201, 333);
const index = fc.nat({ max: 997 });
const skew = fc.oneof({ weight: 12, arbitrary: fc.constant(0) }, fc.constantFrom(-60_001, -60_000, 60_000, 60_001));
const payerKind = fc.oneof({ weight: 5, arbitrary: fc.constant("key" as const) }, fc.constant("session" as const));
const charge = fc.constantFrom("zero", "one", "half", "all", "over");
/** Few names and bodies, so that requests meet under them. */
const claim = fc.option(fc.record({ name: fc.nat({ max: 3 }), body: fc.nat({ max: 7 }) }), { freq: 2 });
const tick = fc.constantFrom(
  "1",
  "500",
  "5000",
  "61000",
  "900001",
  "3600000",
  "86400000",
  "176400000",
  "-1000",
  "midnight",
  "before midnight",
  "month",
);

const operation = fc.oneof(
  { withCrossShrink: true },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("nothing" as const) }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("rush" as const), amount }) },
  {
    weight: 22,
    arbitrary: fc.record({
      op: fc.constant("request" as const),
      kind: payerKind,
      who: index,
      key: index,
      amount,
      skew,
      steps: fc.nat({ max: 3 }),
      claim,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constant("burst" as const), who: index, key: index, amount: fc.constantFrom(0, 1) }),
  },
  { weight: 10, arbitrary: fc.record({ op: fc.constant("step" as const), which: index }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("crash" as const) }) },
  { weight: 14, arbitrary: fc.record({ op: fc.constant("settle" as const), which: index, charge }) },
  { weight: 5, arbitrary: fc.record({ op: fc.constantFrom("release" as const, "orphan" as const), which: index }) },
  { weight: 4, arbitrary: fc.record({ op: fc.constant("checkpoint" as const), which: index, amount }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant("sweep" as const), which: index }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("inquire" as const), who: index }) },
  {
    weight: 14,
    arbitrary: fc.record({ op: fc.constant("deliver" as const), which: index, acknowledge: fc.boolean() }),
  },
  { weight: 8, arbitrary: fc.record({ op: fc.constant("repeat" as const), which: index }) },
  { weight: 4, arbitrary: fc.record({ op: fc.constant("conflict" as const), which: index, amount }) },
  {
    weight: 7,
    arbitrary: fc.record({ op: fc.constant("credit" as const), who: index, id: fc.nat({ max: 5 }), amount }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant("createKey" as const),
      who: index,
      nonce: index,
      window: fc.constantFrom("day" as const, "month" as const, "lifetime" as const),
      limit: fc.option(amount, { freq: 2 }),
      expiresIn: fc.option(fc.constantFrom(1, 30_000, DAY_MS), { freq: 1 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant("updateKey" as const),
      key: index,
      limit: fc.option(amount),
      disabled: fc.option(fc.boolean()),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("rollKey" as const), key: index, nonce: index }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("revokeKey" as const), key: index }) },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant("setCeiling" as const),
      amount: fc.constantFrom(0, 4, 300, 500, 999, 1_000, 2_000),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ op: fc.constant("setCapacity" as const), amount, daysAgo: fc.constantFrom(0, 0, 0, 1) }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("revokeSession" as const) }) },
  { weight: 12, arbitrary: fc.record({ op: fc.constant("tick" as const), by: tick }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("forget" as const), who: index }) },
);
export type Operation = typeof operation extends fc.Arbitrary<infer O> ? O : never;
type ClaimTerms = { name: number; body: number };
export type Run = { start: number; scale: number; operations: Operation[] };

export const runs = (length: number): fc.Arbitrary<Run> =>
  fc.record({
    start: fc.constantFrom(...starts),
    scale: fc.constantFrom(1, 1_000_003, 1_000_000_000_000),
    operations: fc.array(operation, { minLength: length, maxLength: length }),
  });

/** Runs the operations, then ends everything that is open. Answers every command with its reply. */
export function play({ start, scale, operations }: Run): string[] {
  let now = start;
  let made = 0;
  let rolled = 0;
  let running: { id: string; saga: RunningSaga<boolean> }[] = [];
  const trace: string[] = [];
  const sent: { partition: Partition; command: Command }[] = [];
  const admitted = new Set<string>();
  const model = makeModel();
  const host = openMemoryHost({ now: () => now });
  const auditor = makeAuditor(host, model);

  const commit = host.apply;
  host.apply = <C extends Command>(partition: Partition, command: C): ReplyOf<C> => {
    const reply = commit(partition, command);
    const context = `${partition} ${JSON.stringify(command)}`;
    trace.push(`${context} ${JSON.stringify(reply)}`);
    // What may be forgotten is looked up anew each time.
    if (command.type !== "forget") sent.push({ partition, command });
    assert.deepEqual(reply, model.apply(partition, command, now), context);
    auditor.check(partition, command, reply);
    return reply;
  };

  const pick = <T>(list: readonly T[], at: number): T | undefined => list[at % Math.max(1, list.length)];
  const holdOf = (which: number): { partition: Partition; row: HoldRow } | undefined =>
    pick(
      host.all("hold").filter(({ partition }) => partition !== ceilingPartition),
      which,
    );

  function step(index: number): void {
    const entry = running[index];
    if (entry === undefined || entry.saga.step()) return;
    if (entry.saga.result === true) admitted.add(entry.id);
    running.splice(index, 1);
  }

  function request(
    owner: Partition,
    payer: Payer,
    amountNanoUsd: number,
    at: number,
    steps: number,
    claimed: ClaimTerms | null = null,
  ): void {
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
    running.push({ id, saga: host.begin(reserving(owner, reserve)) });
    for (let left = steps; left > 0; left--) step(running.findIndex((entry) => entry.id === id));
  }

  function resolve(operation: { op: "release" | "orphan"; which: number }): void {
    const hold = holdOf(operation.which);
    if (hold === undefined) return;
    const { id } = hold.row;
    if (operation.op === "release")
      host.apply(hold.partition, { type: "release", id, at: now, lossNanoUsd: 0, detail: "" });
    else host.apply(hold.partition, { type: "orphan", id, at: now, graceMs: 900_000 });
  }

  /** A late duplicate of anything ever sent. */
  function again(which: number): void {
    const entry = pick(sent, which);
    if (entry !== undefined) host.apply(entry.partition, entry.command);
  }

  function conflict(which: number, amountNanoUsd: number): void {
    const entry = pick(
      sent.filter(({ command }) => command.type === "reserve" || command.type === "reserveCeiling"),
      which,
    );
    if (entry === undefined || !("id" in entry.command)) return;
    // Of an id that is unknown there, it would be another first.
    if (model.find(entry.partition, entry.command.id) === undefined) return;
    host.apply(entry.partition, { ...entry.command, amountNanoUsd: amountNanoUsd * scale } as Command);
  }

  function perform(operation: Operation): void {
    switch (operation.op) {
      case "nothing":
        return;
      case "request": {
        const owner = operation.kind === "session" ? identity : (pick(accounts, operation.who) ?? identity);
        const mine = model.keys.filter(({ account }) => account === owner);
        const digest = operation.kind === "session" ? "session" : (pick(mine, operation.key)?.digest ?? "no such key");
        request(
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
            model.keys.filter(({ account }) => account === owner),
            operation.key,
          )?.digest ?? "";
        for (let left = 33; left > 0; left--) request(owner, { kind: "key", digest }, operation.amount, now, 3);
        return;
      }
      case "rush":
        for (const account of accounts) {
          const digest = model.keys.find((key) => key.account === account)?.digest ?? "";
          request(account, { kind: "key", digest }, operation.amount * scale, now, 3);
        }
        return;
      case "step":
        step(operation.which % Math.max(1, running.length));
        return;
      case "crash":
        running = [];
        return;
      case "settle": {
        const hold = holdOf(operation.which);
        if (hold === undefined || !admitted.has(hold.row.id)) return;
        const { id, amountNanoUsd: held } = hold.row;
        const chargeNanoUsd =
          { zero: 0, one: Math.min(1, held), half: Math.ceil(held / 2), all: held, over: held + 1 }[operation.charge] ??
          0;
        host.apply(hold.partition, { type: "settle", id, at: now, chargeNanoUsd, lossNanoUsd: 0, detail: "{}" });
        return;
      }
      case "release":
      case "orphan":
        resolve(operation);
        return;
      case "checkpoint": {
        const hold = holdOf(operation.which);
        if (hold === undefined || !admitted.has(hold.row.id)) return;
        const deliveredNanoUsd = operation.amount * scale;
        host.apply(hold.partition, { type: "checkpoint", id: hold.row.id, deliveredNanoUsd, upstreamId: null });
        return;
      }
      case "sweep": {
        const hold = pick(
          lapsed().filter(({ partition }) => partition === ceilingPartition),
          operation.which,
        );
        if (hold === undefined) return;
        const { id, owner } = hold.row;
        running.push({ id: `sweep of ${id}`, saga: host.begin(asking({ id, owner }, now)) });
        return;
      }
      case "inquire":
        // The next request of that name comes too late.
        host.apply(pick(owners, operation.who) ?? identity, { type: "inquire", id: requestName(made + 1), at: now });
        return;
      case "deliver": {
        const delivery = pick(host.outbox(), operation.which);
        if (delivery !== undefined) host.deliver(delivery, operation);
        return;
      }
      case "repeat":
        again(operation.which);
        return;
      case "conflict":
        conflict(operation.which, operation.amount);
        return;
      case "credit":
        host.apply(pick(accounts, operation.who) ?? identity, {
          type: "credit",
          id: `1:${operation.id}`,
          at: now,
          amountNanoUsd: operation.amount * scale,
          detail: "{}",
        });
        return;
      case "createKey": {
        const { window, limit, expiresIn, nonce } = operation;
        const keyId = `key${model.keys.length + 1}`;
        const account = pick(accounts, operation.who) ?? identity;
        createKey(
          account,
          keyId,
          nonce % 7 === 0 ? (pick(model.keys, nonce)?.nonce ?? "n") : `nonce of ${keyId}`,
          window,
          limit,
          expiresIn,
        );
        return;
      }
      case "updateKey": {
        const key = pick(model.keys, operation.key);
        if (key === undefined) return;
        const { limit, disabled } = operation;
        host.apply(key.account, {
          type: "updateKey",
          keyId: key.keyId,
          ...(limit === null ? {} : { limitNanoUsd: limit * scale }),
          ...(disabled === null ? {} : { disabled }),
        });
        return;
      }
      case "rollKey": {
        const key = pick(model.keys, operation.key);
        if (key === undefined) return;
        rolled += 1;
        const nonce = operation.nonce % 7 === 0 ? key.nonce : `nonce of roll ${rolled}`;
        const secret = { digest: `digest of roll ${rolled}`, label: "", nonce, nonceExpiresAt: now + 600_000 };
        host.apply(key.account, { type: "rollKey", at: now, keyId: key.keyId, ...secret });
        return;
      }
      case "revokeKey": {
        const key = pick(model.keys, operation.key);
        if (key !== undefined) host.apply(key.account, { type: "revokeKey", at: now, keyId: key.keyId });
        return;
      }
      case "setCeiling":
        host.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: operation.amount * scale });
        return;
      case "setCapacity":
        host.apply(identity, {
          type: "setCapacity",
          at: now - operation.daysAgo * DAY_MS,
          limitNanoUsd: operation.amount * scale,
        });
        return;
      case "revokeSession":
        host.apply(identity, { type: "revokeSession", at: now, digest: "session" });
        return;
      case "tick":
        now = ticked(now, operation.by);
        return;
      case "forget": {
        const partition = pick([...owners, ceilingPartition], operation.who) ?? identity;
        const waiting = new Set(host.outbox().map(({ row }) => row.id.split(">")[0]));
        const ids = host
          .all("hold")
          .filter((hold) => hold.partition === partition && !waiting.has(hold.row.id))
          .map(({ row }) => row.id);
        host.apply(partition, { type: "forget", at: now, table: "hold", ids });
      }
    }
  }

  function createKey(
    account: Partition,
    keyId: string,
    nonce: string,
    window: "day" | "month" | "lifetime",
    limit: number | null,
    expiresIn: number | null,
  ): void {
    host.apply(account, {
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
  function drain(): void {
    running = [];
    now += 20 * 60_000;
    for (const { partition, row } of lapsed().filter((hold) => hold.partition !== ceilingPartition)) {
      host.apply(partition, { type: "orphan", id: row.id, at: now, graceMs: 900_000 });
      const end = { id: row.id, at: now, lossNanoUsd: 0, detail: "" };
      if (row.deliveredNanoUsd === 0) host.apply(partition, { type: "release", ...end });
      else host.apply(partition, { type: "settle", ...end, chargeNanoUsd: row.deliveredNanoUsd });
    }
    host.deliverAll();
    for (const { row } of lapsed()) {
      const saga = host.begin(asking(row, now));
      while (saga.step());
    }
    host.deliverAll();
    auditor.checkDrained();
  }

  host.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: 1_000 * scale });
  host.apply(identity, {
    type: "openSession",
    at: now,
    digest: "session",
    address: "",
    agentToken: null,
    expiresAt: now + 3 * DAY_MS,
  });
  host.apply(identity, { type: "setCapacity", at: now, limitNanoUsd: 300 * scale });
  for (const [n, account] of accounts.entries()) {
    const amountNanoUsd = ([600, 150, 300, 1_000, 1_000, 1_000][n] ?? 0) * scale;
    host.apply(account, { type: "credit", id: "1:9", at: now, amountNanoUsd, detail: "{}" });
    createKey(account, `first${n}`, `first nonce ${n}`, "day", n === 1 ? 250 : null, null);
  }
  for (const operation of operations) perform(operation);
  drain();
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
