import assert from "node:assert/strict";
import { DAY_MS, windowEnd } from "@inference/protocol/window";
import type { Claim, Command, Payer } from "../commands.ts";
import { deliveryId } from "../delivery.ts";
import { askOwner } from "../follower.ts";
import { isUnresolved } from "../hold-row.ts";
import {
  agentPartition,
  ceilingPartition,
  ceilingShard,
  isCeiling,
  isCeilingShard,
  type Partition,
} from "../partition.ts";
import { type Reservation, reserveRequest } from "../reservation.ts";
import type { Saga, Step } from "../saga.ts";
import type { HoldRow } from "../tables.ts";
import type { ClaimTerms, OfferTerms, Operation, Run } from "./operations.ts";
import { settleBatches } from "./settle-batches.ts";
import { accounts, identities, identity, type OpenHost, openWorld, sellers } from "./world.ts";

/**
 * Everything that can happen to the ledger: accounts and an identity that spend, sagas that stop, deliveries late and
 * twice, commands again and in conflict, and time. The same operations make the same trace.
 */
const owners = [...accounts, ...identities];

type RequestTerms = { claimed?: ClaimTerms | null; offers?: readonly OfferTerms[]; blocks?: boolean };

/** A saga under way, and the command it waits for. */
type Running = { id: string; saga: Saga<boolean>; next: IteratorResult<Step, boolean> };

/** Runs the operations, then ends everything that is open. Answers every command with its reply. */
export async function play({ operations, ...run }: Run, open: OpenHost): Promise<string[]> {
  const { scale } = run;
  let { shards } = run;
  const world = await openWorld(run, open);
  const { apply, clock, host, model } = world;
  const settling = settleBatches(world);
  let made = 0;
  let named = 0;
  let rolled = 0;
  let changed = 0;
  let running: Running[] = [];
  const admitted = new Set<string>();
  /** Of requests whose reservation failed and was undone. */
  const undone = new Set<string>();
  /**
   * Requests that an agent did not take, and does not remember. What arrives late holds them there, until the lease
   * ends and the owner says that the agent does not serve them.
   */
  const notTaken = new Set<string>();
  /** Commands that have not arrived, and may yet. */
  const late: Step[] = [];

  const pick = <T>(list: readonly T[], at: number): T | undefined => list[at % Math.max(1, list.length)];
  const holdOf = (which: number): { partition: Partition; row: HoldRow } | undefined =>
    pick(
      host.all("hold").filter(({ partition, row }) => partition === row.owner && !isCeiling(partition)),
      which,
    );

  function begin(id: string, saga: Saga<boolean>): Running {
    return { id, saga, next: saga.next() };
  }

  /** Takes a saga one commit further. False once it is over. */
  async function advance(entry: Running): Promise<boolean> {
    if (entry.next.done) return false;
    const { partition, command } = entry.next.value;
    const reply = await apply(partition, command);
    const isTaken = "status" in reply && reply.status === "reserved";
    if (command.type === "reserveOffer" && !isTaken) notTaken.add(`${command.id} ${partition}`);
    entry.next = entry.saga.next(reply);
    return !entry.next.done;
  }

  async function step(index: number): Promise<void> {
    const entry = running[index];
    if (entry === undefined || (await advance(entry))) return;
    if (entry.next.value === true) admitted.add(entry.id);
    running.splice(index, 1);
  }

  /** A call fails, and the saga undoes what it did. The command has arrived, or comes late if at all. */
  async function fail(index: number, arrives: boolean): Promise<void> {
    const [entry] = running.splice(index, 1);
    if (entry === undefined || entry.next.done) return;
    const { partition, command } = entry.next.value;
    if (arrives) await apply(partition, command);
    else late.push(entry.next.value);
    const failure = new Error("not reached");
    try {
      entry.next = entry.saga.throw(failure);
      while (await advance(entry));
      // An agent that is not reached is no reason to fail.
      if (entry.next.value === true) admitted.add(entry.id);
    } catch (error) {
      if (error !== failure) throw error;
    }
    if (command.type === "reserve" || command.type === "reserveCeiling") undone.add(entry.id);
  }

  /** L16. */
  function checkUndone(): void {
    const told = new Set(world.outbox().map(({ row }) => row.id));
    for (const { partition, row } of host.all("hold")) {
      // A shard tells the ceiling once it is told itself.
      const tellers = isCeilingShard(row.owner) ? [partition, row.owner] : [partition];
      if (!undone.has(row.id) || tellers.some((teller) => told.has(deliveryId(row.id, teller)))) continue;
      if (notTaken.has(`${row.id} ${partition}`)) continue;
      assert.ok(!isUnresolved(row), `L16: ${partition} holds ${row.id}`);
    }
  }

  async function request(
    owner: Partition,
    payer: Payer,
    amountNanoUsd: number,
    at: number,
    steps: number,
    { claimed = null, offers = [], blocks = true }: RequestTerms = {},
  ): Promise<string> {
    made += 1;
    const id = requestName(made);
    const reservation: Reservation = {
      id,
      at,
      owner,
      amountNanoUsd,
      leaseMs: 900_000,
      payer,
      detail: "{}",
      blocks,
      ...(shards === 1 ? {} : { ceiling: ceilingShard(1 + (Math.max(0, accounts.indexOf(owner)) % shards)) }),
      ...(claimed === null ? {} : { claim: claimOf(claimed, at) }),
      offers: offers.map(({ who, isStale }) => {
        const agent = sellers[who] ?? `0x${"c".repeat(40)}`;
        return { agent, offer: isStale === 0 ? "stale" : (model.offerOf(agentPartition(agent))?.hash ?? "none") };
      }),
    };
    running.push(begin(id, reserving(reservation)));
    for (let left = steps; left > 0; left--) await step(running.findIndex((entry) => entry.id === id));
    return id;
  }

  /** Small requests one after the other, as an account makes them that draws blocks. The last ones stay open. */
  async function spree({ who, key, amount, count, open }: Extract<Operation, { op: "spree" }>): Promise<void> {
    const owner = pick(accounts, who) ?? identity;
    const mine = model.keys().filter(({ account }) => account === owner);
    const digest = pick(mine, key)?.digest ?? "";
    for (let left = count; left > 0; left--) {
      const id = await request(owner, { kind: "key", digest }, amount * scale, clock.now, 8);
      if (left <= open || !admitted.has(id)) continue;
      const chargeNanoUsd = Math.ceil((amount * scale) / 2);
      await apply(owner, { type: "settle", id, at: clock.now, chargeNanoUsd, lossNanoUsd: 0, detail: "{}" });
    }
  }

  async function resolve(operation: { op: "release" | "orphan"; which: number }): Promise<void> {
    const hold = holdOf(operation.which);
    if (hold === undefined) return;
    const { id } = hold.row;
    if (operation.op === "release")
      await apply(hold.partition, { type: "release", id, at: clock.now, lossNanoUsd: 0, detail: "" });
    else await apply(hold.partition, { type: "orphan", id, at: clock.now, graceMs: 900_000 });
  }

  /** A late duplicate of anything ever sent. */
  async function again(which: number): Promise<void> {
    const entry = pick(world.sent, which);
    if (entry !== undefined) await apply(entry.partition, entry.command);
  }

  async function conflict(which: number, amountNanoUsd: number): Promise<void> {
    const entry = pick(
      world.sent.filter(({ command }) => command.type.startsWith("reserve")),
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
        const owner = pick(operation.kind === "session" ? identities : accounts, operation.who) ?? identity;
        const mine = model.keys().filter(({ account }) => account === owner);
        const digest = operation.kind === "session" ? "session" : (pick(mine, operation.key)?.digest ?? "no such key");
        await request(
          owner,
          { kind: operation.kind, digest },
          operation.amount * scale,
          clock.now + operation.skew,
          operation.steps,
          { claimed: operation.claim, offers: operation.offers, blocks: operation.blocks },
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
        for (let left = 33; left > 0; left--)
          await request(owner, { kind: "key", digest }, operation.amount, clock.now, 5);
        return;
      }
      case "rush":
        for (const account of accounts) {
          const digest = model.keys().find((key) => key.account === account)?.digest ?? "";
          await request(account, { kind: "key", digest }, operation.amount * scale, clock.now, 5);
        }
        return;
      case "spree":
        await spree(operation);
        return;
      case "closeBlock": {
        const block = pick(host.all("block"), operation.which);
        if (block !== undefined) await apply(block.partition, { type: "closeBlock", id: block.row.drawnBy });
        return;
      }
      case "shards":
        // By a redeployment, which also ends what the processes before it were at.
        if (shards !== operation.shards) running = [];
        shards = operation.shards;
        return;
      case "step":
        await step(operation.which % Math.max(1, running.length));
        return;
      case "fail":
        await fail(operation.which % Math.max(1, running.length), operation.arrives);
        return;
      case "late": {
        const [step] = late.splice(operation.which % Math.max(1, late.length), 1);
        if (step !== undefined) await apply(step.partition, step.command);
        return;
      }
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
        await apply(hold.partition, { type: "settle", id, at: clock.now, chargeNanoUsd, lossNanoUsd: 0, detail: "{}" });
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
          world.lapsed().filter(({ partition, row }) => partition !== row.owner),
          operation.which,
        );
        if (hold === undefined) return;
        const { id, owner } = hold.row;
        running.push(begin(`sweep of ${id}`, asking(hold.partition, { id, owner }, clock.now)));
        return;
      }
      case "offer": {
        const agent = agentPartition(pick(sellers, operation.who) ?? "0x");
        const today = Math.floor(clock.now / DAY_MS);
        const day = { every: 0, today, yesterday: today - 1, tomorrow: today + 1 }[operation.day] ?? 0;
        const nonce = Math.max(0, (model.offerOf(agent)?.nonce ?? 0) + operation.nonce);
        const terms = { day, shareBps: operation.share, nonce };
        const hash = `${day} ${operation.share} ${nonce}`;
        await apply(agent, { type: "setOffer", at: clock.now, hash, ...terms, computer: "", owner: "" });
        return;
      }
      case "endOffer": {
        const agent = agentPartition(pick(sellers, operation.who) ?? "0x");
        await apply(agent, { type: "endOffer", at: clock.now, hash: model.offerOf(agent)?.hash ?? "" });
        return;
      }
      case "reassign": {
        const hold = holdOf(operation.which);
        if (hold !== undefined) await apply(hold.partition, { type: "reassign", id: hold.row.id });
        return;
      }
      case "inquire":
        // The next request of that name comes too late.
        await apply(pick(owners, operation.who) ?? identity, {
          type: "inquire",
          id: requestName(made + 1),
          at: clock.now,
        });
        return;
      case "deliver": {
        const delivery = pick(world.outbox(), operation.which);
        if (delivery !== undefined) await world.deliver(delivery, operation.acknowledge);
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
          at: clock.now,
          amountNanoUsd: operation.amount * scale,
          detail: "{}",
        });
        return;
      case "debit":
        await apply(pick(accounts, operation.who) ?? identity, {
          ...{ type: "debit", id: `1:batch:${operation.id}`, at: clock.now, detail: "{}" },
          amountNanoUsd: operation.amount * scale,
        });
        return;
      case "createKey": {
        const { window, limit, expiresIn, nonce } = operation;
        named += 1;
        const keyId = `key${named}`;
        const account = pick(accounts, operation.who) ?? identity;
        const reused = nonce % 7 === 0 ? (pick(model.keys(), nonce)?.nonce ?? "n") : `nonce of ${keyId}`;
        await world.createKey(account, { keyId, nonce: reused, window, limit, expiresIn });
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
        const secret = { digest: `digest of roll ${rolled}`, label: "", nonce, nonceExpiresAt: clock.now + 600_000 };
        await apply(key.account, { type: "rollKey", at: clock.now, keyId: key.keyId, ...secret });
        return;
      }
      case "setKeyTerms": {
        const key = pick(model.keys(), operation.key);
        if (key === undefined) return;
        const { window, limit, expiresIn } = operation;
        changed += 1;
        const nonce = operation.nonce % 7 === 0 ? key.nonce : `nonce of terms ${changed}`;
        await apply(key.account, {
          type: "setKeyTerms",
          id: `terms ${changed}`,
          at: clock.now,
          keyId: key.keyId,
          window,
          limitNanoUsd: limit === null ? null : limit * scale,
          // Some leave the expiry as it is.
          ...(operation.nonce % 5 === 0 ? {} : { expiresAt: expiresIn === null ? null : clock.now + expiresIn }),
          nonce,
          nonceExpiresAt: clock.now + 600_000,
        });
        return;
      }
      case "revokeKey": {
        const key = pick(model.keys(), operation.key);
        if (key !== undefined) await apply(key.account, { type: "revokeKey", at: clock.now, keyId: key.keyId });
        return;
      }
      case "setCeiling":
        await apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: operation.amount * scale });
        return;
      case "setCapacity":
        await apply(pick(identities, operation.who) ?? identity, {
          type: "setCapacity",
          at: clock.now - operation.daysAgo * DAY_MS,
          limitNanoUsd: operation.amount * scale,
        });
        return;
      case "revokeSession":
        await apply(pick(identities, operation.who) ?? identity, {
          type: "revokeSession",
          at: clock.now,
          digest: "session",
        });
        return;
      case "tick":
        clock.now = ticked(clock.now, operation.by);
        return;
      case "batch":
        await settling.step(operation);
        return;
      case "carry":
        await apply(ceilingPartition, {
          ...{ type: "carry", id: `batch:${operation.which % 3}`, at: clock.now },
          amountNanoUsd: operation.amount * scale,
        });
        return;
      case "forget":
        await forget(operation.table);
    }
  }

  /** As a job does it: in every partition that has such rows. */
  async function forget(table: "hold" | "key" | "session"): Promise<void> {
    const waiting = new Set(world.outbox().map(({ row }) => row.id.split(">")[0]));
    const rows = host.all(table).filter(({ row }) => table !== "hold" || !waiting.has(row.id));
    for (const [partition, entries] of Map.groupBy(rows, (entry) => entry.partition)) {
      await apply(partition, { type: "forget", at: clock.now, table, ids: entries.map(({ row }) => row.id) });
    }
  }

  /** What is left to the sweeper once nobody works on anything any more. */
  async function drain(): Promise<void> {
    running = [];
    clock.now += 20 * 60_000;
    for (const { partition, row } of world.lapsed().filter((hold) => hold.partition === hold.row.owner)) {
      await apply(partition, { type: "orphan", id: row.id, at: clock.now, graceMs: 900_000 });
      const end = { id: row.id, at: clock.now, lossNanoUsd: 0, detail: "" };
      if (row.deliveredNanoUsd === 0) await apply(partition, { type: "release", ...end });
      else await apply(partition, { type: "settle", ...end, chargeNanoUsd: row.deliveredNanoUsd });
    }
    await world.deliverAll();
    // First the accounts are asked, then the shards.
    for (let rounds = 0; rounds < 2; rounds++) {
      for (const { partition, row } of world.lapsed()) {
        const saga = begin(`sweep of ${row.id}`, asking(partition, row, clock.now));
        while (await advance(saga));
      }
      await world.deliverAll();
    }
    world.checkDrained();
  }

  for (const operation of operations) {
    await perform(operation);
    checkUndone();
  }
  await drain();
  return world.trace;
}

/** Most requests under a name ask for the same. */
function claimOf({ name, body }: ClaimTerms, at: number): Claim {
  return { id: `claim ${name}`, fingerprint: body === 0 ? "another body" : "the body", expiresAt: at + DAY_MS };
}

/** As `reserveRequest` answers whether something may be forwarded. */
function* reserving(reservation: Reservation): Saga<boolean> {
  const { status } = yield* reserveRequest(reservation);
  return status === "reserved";
}

/** A sweep admits nothing. */
function* asking(follower: Partition, hold: { id: string; owner: Partition }, at: number): Saga<boolean> {
  yield* askOwner(follower, hold, at);
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
