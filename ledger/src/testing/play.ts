import assert from "node:assert/strict";
import type { KeyLimit } from "@inference/protocol/key-limit";
import { DAY_MS, type DollarWindow, utcDay, windowEnd } from "@inference/protocol/window";
import { lowerAllowances } from "../messages/allowances.ts";
import type { Claim, Command, KeyTerms, PayerCredential, UsedModel } from "../messages/commands.ts";
import { sendHeard } from "../messages/hearing.ts";
import { agentPartition, ceilingPartition, type Partition } from "../messages/partition.ts";
import { type Reservation, reserveRequest } from "../messages/reservation.ts";
import type { Saga, Step } from "../messages/saga.ts";
import { isHold, type ReceiptRow } from "../rows/tables.ts";
import { ALLOWANCE_MS } from "../rules/limits.ts";
import type { ClaimTerms, KeyTermsDrawn, OfferTerms, Operation, Run } from "./operations.ts";
import { accounts, chain, identities, identity, type OpenHost, openWorld, sellers, tokensOf } from "./world.ts";

/**
 * Everything that can happen to the ledger: accounts and an identity that spend, sagas that stop, deliveries late and
 * twice, commands again and in conflict, and time. The same operations make the same trace.
 */
const owners = [...accounts, ...identities];

type RequestTerms = {
  claimed?: ClaimTerms | null;
  offers?: readonly OfferTerms[];
  inPieces?: boolean;
  tokens?: number;
  models?: readonly UsedModel[];
};

/** A saga under way, and the command it waits for. */
type Running = { id: string; saga: Saga<boolean>; next: IteratorResult<Step, boolean> };

/** Runs the operations, then ends everything that is open. Answers every command with its reply. */
export async function play({ operations, ...run }: Run, open: OpenHost): Promise<string[]> {
  const { scale } = run;
  const world = await openWorld(run, open);
  const { apply, clock, host, model } = world;
  let made = 0;
  let named = 0;
  let rolled = 0;
  let changed = 0;
  let running: Running[] = [];
  const admitted = new Set<string>();
  /** The requests whose reservation failed and was undone. */
  const undone = new Set<string>();
  /** Commands that have not arrived, and may yet. */
  const late: Step[] = [];

  const pick = <T>(list: readonly T[], at: number): T | undefined => list[at % Math.max(1, list.length)];
  const holdOf = (which: number): { partition: Partition; row: ReceiptRow } | undefined =>
    pick(host.all("receipt"), which);

  function begin(id: string, saga: Saga<boolean>): Running {
    return { id, saga, next: saga.next() };
  }

  /** Takes a saga one commit further. False once it is over. */
  async function advance(entry: Running): Promise<boolean> {
    if (entry.next.done) return false;
    const { partition, command } = entry.next.value;
    const reply = await apply(partition, command);
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
    if (command.type === "reserve" && !admitted.has(entry.id)) undone.add(entry.id);
  }

  /** L16. */
  function checkUndone(): void {
    for (const { partition, row } of host.all("receipt")) {
      assert.ok(!undone.has(row.id) || !isHold(row), `L16: ${partition} holds ${row.id}`);
    }
  }

  async function request(
    owner: Partition,
    payer: PayerCredential,
    amountNanoUsd: number,
    at: number,
    steps: number,
    { claimed = null, offers = [], inPieces = true, ...terms }: RequestTerms = {},
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
      chain,
      inPieces,
      ...terms,
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

  /** Small requests one after the other, as a busy account makes them. The last ones stay open. */
  async function spree({ who, key, amount, count, open }: Extract<Operation, { op: "spree" }>): Promise<void> {
    const owner = pick(accounts, who) ?? identity;
    const mine = model.keys().filter(({ account }) => account === owner);
    const digest = pick(mine, key)?.digest ?? "";
    for (let left = count; left > 0; left--) {
      const id = await request(owner, { kind: "key", digest }, amount * scale, clock.now, 8);
      if (left <= open || !admitted.has(id)) continue;
      const chargeNanoUsd = Math.ceil((amount * scale) / 2);
      await apply(owner, { ...settled(id, clock.now), chargeNanoUsd });
    }
  }

  async function resolve(operation: { op: "release" | "orphan"; which: number }): Promise<void> {
    const hold = holdOf(operation.which);
    if (hold === undefined) return;
    const { id } = hold.row;
    if (operation.op === "release")
      await apply(hold.partition, { type: "release", id, at: clock.now, lossNanoUsd: 0, detail: "{}" });
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
    // For an unknown id it would be a new request.
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
          {
            claimed: operation.claim,
            offers: operation.offers,
            inPieces: operation.inPieces,
            tokens: operation.tokens,
            models: operation.models,
          },
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
        const { id, heldNanoUsd: held } = hold.row;
        const chargeNanoUsd =
          { zero: 0, one: Math.min(1, held), half: Math.ceil(held / 2), all: held, over: held + 1 }[operation.charge] ??
          0;
        const { tokens } = operation;
        const used = tokens === null ? {} : { tokens };
        await apply(hold.partition, { ...settled(id, clock.now), chargeNanoUsd, ...used });
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
      case "lower": {
        const limits = [ceilingPartition, ...sellers.map(agentPartition)];
        const limit = operation.limit === null ? null : (limits[operation.limit] ?? null);
        begun("lower", lowerAllowances(pick(accounts, operation.who) ?? identity, { at: clock.now, limit }));
        return;
      }
      case "hear": {
        const account = pick(accounts, operation.who) ?? identity;
        const free = { id: "none", at: clock.now, lossNanoUsd: 0, detail: "{}" };
        begun("hear", sendHeard(chain, account, { type: "release", ...free }));
        return;
      }
      case "copy":
        world.copy(pick(owners, operation.who) ?? identity);
        return;
      case "putBack": {
        const partition = pick(owners, operation.who) ?? identity;
        const isBack = world.putBack(partition, operation.which);
        if (isBack && !accounts.includes(partition)) await tellAgain(partition);
        return;
      }
      case "emptyCeiling":
        await tellAgain(ceilingPartition);
        return;
      case "setCarry":
        await apply(ceilingPartition, {
          ...{ type: "setCarry", day: utcDay(clock.now), amountNanoUsd: operation.amount * scale },
        });
        return;
      case "giveUp": {
        // The next request of that name comes too late.
        const late = { id: requestName(made + 1), at: clock.now, lossNanoUsd: 0, detail: null };
        await apply(pick(owners, operation.who) ?? identity, { type: "release", ...late });
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
      case "activate":
        await world.activate(pick(accounts, operation.who) ?? identity, tokensOf(operation.amount * scale));
        return;
      case "createKey": {
        const { window, limit, expiresIn, nonce } = operation;
        named += 1;
        const keyId = `key${named}`;
        const account = pick(accounts, operation.who) ?? identity;
        const reused = nonce % 7 === 0 ? (pick(model.keys(), nonce)?.nonce ?? "n") : `nonce of ${keyId}`;
        const terms = drawnTerms(operation.terms, scale, limit === null ? null : window);
        await world.createKey(account, { keyId, nonce: reused, window, limit, expiresIn, terms });
        return;
      }
      case "updateKey": {
        const key = pick(model.keys(), operation.key);
        if (key === undefined) return;
        const { limit, disabled } = operation;
        // Any limit in dollars can be added.
        const { limits, models, isPrivate } = drawnTerms(operation.terms, scale, key.window);
        await apply(key.account, {
          type: "updateKey",
          keyId: key.keyId,
          ...(limit === null ? {} : { limitNanoUsd: limit * scale }),
          ...(disabled === null ? {} : { disabled }),
          limits,
          ...(models === null ? {} : { models }),
          ...(isPrivate ? { isPrivate } : {}),
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
        const { window, limit, expiresIn, stays } = operation;
        const drawn = drawnTerms(operation.terms, scale, limit === null ? null : window);
        const keeps = (name: (typeof stays)[number]) => stays.includes(name);
        const units = (["requests", "tokens"] as const).filter((unit) => !keeps(unit));
        changed += 1;
        const nonce = operation.nonce % 7 === 0 ? key.nonce : `nonce of terms ${changed}`;
        await apply(key.account, {
          type: "setKeyTerms",
          id: `terms ${changed}`,
          at: clock.now,
          keyId: key.keyId,
          ...(keeps("limits") ? {} : { window, limitNanoUsd: limit === null ? null : limit * scale }),
          units,
          limits: drawn.limits.filter(({ unit }) => !keeps(unit === "nano_usd" ? "limits" : unit)),
          ...(keeps("models") ? {} : { models: drawn.models }),
          ...(keeps("isPrivate") ? {} : { isPrivate: drawn.isPrivate }),
          // Some keep the expiry.
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
      case "forget":
        await forget(operation.table);
    }
  }

  /** A limit lost its allowances: it is emptied, and all accounts tell it again what they used and hold. */
  async function tellAgain(limit: Partition): Promise<void> {
    await apply(limit, { type: "empty", at: clock.now, limit: 10_000 });
    for (const account of accounts) await finish(begin("tell", lowering(account, limit)));
    await apply(limit, { type: "fill" });
  }

  function* lowering(account: Partition, limit: Partition | null): Saga<boolean> {
    yield* lowerAllowances(account, { at: clock.now, limit });
    return false;
  }

  function begun(id: string, saga: Saga<unknown>): void {
    running.push(
      begin(
        id,
        (function* () {
          yield* saga;
          return false;
        })(),
      ),
    );
  }

  async function finish(entry: Running): Promise<void> {
    while (await advance(entry));
  }

  /** In every partition with such rows, like the job. */
  async function forget(table: "receipt" | "key" | "session"): Promise<void> {
    for (const [partition, entries] of Map.groupBy(host.all(table), (entry) => entry.partition)) {
      await apply(partition, { type: "forget", at: clock.now, table, ids: entries.map(({ row }) => row.id) });
    }
  }

  /** The sweeper ends the rest. */
  async function drain(): Promise<void> {
    running = [];
    clock.now += 20 * 60_000;
    await world.deliverAll();
    for (const { partition, row } of world.lapsed()) {
      await apply(partition, { type: "orphan", id: row.id, at: clock.now, graceMs: 900_000 });
      const { id, deliveredNanoUsd: chargeNanoUsd } = row;
      const released = { type: "release", id, at: clock.now, lossNanoUsd: 0, detail: "{}" } as const;
      const command = chargeNanoUsd === 0 ? released : { ...settled(id, clock.now), chargeNanoUsd };
      await finish(begin("sweep", heard(partition, command)));
    }
    // What stayed is told after midnight.
    for (const waits of [ALLOWANCE_MS, DAY_MS]) {
      clock.now += waits;
      for (const account of accounts) await finish(begin("lower", lowering(account, null)));
    }
    await world.deliverAll();
    world.checkDrained();
  }

  function* heard(partition: Partition, command: Command & { at: number }): Saga<boolean> {
    yield* sendHeard(chain, partition, command);
    return false;
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

/** @param first The window of the first limit in dollars; null: there is none, and no other. */
function drawnTerms(drawn: KeyTermsDrawn, scale: number, first: DollarWindow | null): KeyTerms {
  const { other, requests, tokens, models, isPrivate } = drawn;
  const limits: KeyLimit[] = [];
  if (requests !== null) limits.push({ unit: "requests", window: "minute", most: requests });
  if (other !== null && first !== null && other.window !== first) {
    limits.push({ unit: "nano_usd", window: other.window, most: other.amount * scale });
  }
  if (tokens !== null) limits.push({ unit: "tokens", window: "minute", most: tokens });
  return { limits, models, isPrivate };
}

/** As `reserveRequest` answers whether something may be forwarded. */
function* reserving(reservation: Reservation): Saga<boolean> {
  const { status } = yield* reserveRequest(reservation);
  return status === "reserved";
}

function settled(id: string, at: number) {
  const tally = { model: "", promptTokens: 0, completionTokens: 0, ...tagOf(id) };
  return { type: "settle", id, at, lossNanoUsd: 0, detail: "{}", snapshot: "00", tally } as const;
}

/** Two of three requests have a tag. */
function tagOf(id: string): { tag?: string } {
  const tag = Number(id.slice("req_".length)) % 3;
  return tag === 0 ? {} : { tag: `tag ${tag}` };
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
