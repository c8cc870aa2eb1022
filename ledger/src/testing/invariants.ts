import assert from "node:assert/strict";
import { DAY_MS, windowStart } from "@inference/protocol/window";
import type { Claim, Command, Commands, Reply } from "../messages/commands.ts";
import { ceilingPartition, type Partition } from "../messages/partition.ts";
import { answer } from "../messages/reads.ts";
import { isHold, type ReceiptRow } from "../rows/tables.ts";
import { allowanceId, limitsOf } from "../rules/allowance.ts";
import { isHeld, type Model, windowName } from "./model.ts";
import type { WorldHost } from "./world.ts";

/**
 * The invariants of the stored rows.
 *
 * | | |
 * |---|---|
 * | L1 | at an admission a balance's settled + held is within what was activated |
 * | L2 | at an admission a key's settled + held, in the window of that time, is within each of its limits; a capacity's likewise |
 * | L3 | at an admission what an account used and holds of the ceiling, and of an offer, is within what that limit allowed it |
 * | L4 | a limit's counter of a day is the sum of its accounts' rows |
 * | L5 | a hold ends at most once, and is charged at most its amount |
 * | L6 | the uses of an account fill its line from 0 to its settled amount without a gap; each is of a receipt of that cost |
 * | L7 | an id's answer never changes, but for what it says is left |
 * | L8 | with every hold ended and everything delivered, nothing is held or allowed beyond what was used |
 * | L9 | a balance is what the chain says was activated |
 * | L10 | rows hold strings, safe integers, amounts and null, each where it belongs (the host refuses others) |
 * | L11 | everything delivered, a limit knows what each account used, to the nano-dollar |
 * | L12 | what is read, or told as left, is what is counted: balances, keys and capacities are sums of receipts and holds |
 * | L13 | the totals of a day and key are its receipts, counted once each, whatever their tags |
 * | L14 | of the requests under one name, while it lasts, at most one is open or settled |
 * | L15 | of a forgotten key nothing is left that opens or counts; an account counts its keys that live |
 * | L16 | a request whose reservation failed and was undone is held nowhere, whatever arrives late |
 * | L17 | a raise is allowed within the limit: the sum of what is allowed does not exceed it |
 * | L18 | a sale is within the offered share of the capacity, and with own use within the capacity |
 */
export function makeAuditor(host: Pick<WorldHost, "rows" | "all">, model: Model, clock: { now: number }) {
  let ended = new Map<string, string>();
  let answers = new Map<string, string>();
  const named = new Map<string, { id: string; expiresAt: number }[]>();
  /** For accounts that were put back, the limits know more than the receipts. */
  const restored = new Set<Partition>();

  function check(partition: Partition, command: Command, reply: Reply): void {
    if (command.type === "reserve") checkAdmission(partition, command, reply);
    if (command.type === "allow") checkLimit(partition, command.day);
    if (command.type === "forget") checkForgotten(partition, command);
    const rows = host.rows(partition);
    for (const receipt of rows.list("receipt", { limit: 10_000 })) checkReceipt(partition, receipt);
    checkTotals(partition);
    checkLeft(partition, reply);
    if (partition.startsWith("account:")) checkAccount(partition);
  }

  function checkReceipt(partition: Partition, receipt: ReceiptRow): void {
    const { id, state, chargeNanoUsd, heldNanoUsd } = receipt;
    const key = `${partition} ${id}`;
    assert.ok(chargeNanoUsd <= heldNanoUsd, `L5: ${key} is charged ${chargeNanoUsd} of ${heldNanoUsd}`);
    if (isHold(receipt)) {
      assert.ok(!ended.has(key), `L5: ${key} is open again`);
      return;
    }
    const end = `${state} at ${chargeNanoUsd}`;
    assert.equal(end, ended.get(key) ?? end, `L5: ${key}`);
    ended.set(key, end);
  }

  function checkTotals(partition: Partition): void {
    const expected = new Map<string, number[]>();
    for (const hold of model.holds(partition)) {
      if (isHeld(hold) || !hold.isShown) continue;
      const id = `${windowName("day", hold.at)} ${hold.keyId ?? ""} `;
      const [requests = 0, charge = 0] = expected.get(id) ?? [];
      expected.set(id, [requests + 1, charge + hold.charge]);
    }
    const totals = host.rows(partition).list("total", { limit: 10_000 });
    const actual = [...Map.groupBy(totals, ({ id }) => id.split("\n")[0])].map(([id, rows]) => [
      id,
      [sumOf(rows.map(({ requests }) => requests)), sumOf(rows.map(({ chargeNanoUsd }) => chargeNanoUsd))],
    ]);
    const sorted = [...expected].sort(([one], [other]) => (one < other ? -1 : 1));
    assert.deepEqual(actual, sorted, `L13: ${partition}`);
  }

  /** L12, for replies. */
  function checkLeft(partition: Partition, reply: Reply): void {
    if (!("availableNanoUsd" in reply)) return;
    const { settled, held } = model.spent(partition, "lifetime", 0);
    const rest = Math.max(0, model.activated(partition) - settled - held);
    assert.equal(reply.availableNanoUsd, rest, `L12: ${partition} tells what is left`);
  }

  function checkAccount(partition: Partition): void {
    const rows = host.rows(partition);
    assert.equal(rows.get("account", "account")?.keys ?? 0, rows.liveKeys().length, `L15: ${partition}`);
    const balance = answer(rows, { type: "balance", at: 0 });
    assert.equal(balance.limitNanoUsd, model.activated(partition), `L9: ${partition}`);
    const { settled, held } = model.spent(partition, "lifetime", 0);
    assert.deepEqual([balance.settledNanoUsd, balance.heldNanoUsd], [settled, held], `L12: ${partition}`);
    let end = 0;
    for (const use of answer(rows, { type: "uses", afterNanoUsd: 0, limit: 10_000 })) {
      assert.equal(use.endsAtNanoUsd - use.costNanoUsd, end, `L6: ${partition} ${use.receipt}`);
      const receipt = rows.get("receipt", use.receipt);
      const told = [receipt?.endsAtNanoUsd, receipt?.chargeNanoUsd, receipt?.server, receipt?.offer];
      assert.deepEqual(told, [use.endsAtNanoUsd, use.costNanoUsd, use.server, use.offer], `L6: ${use.receipt}`);
      end = use.endsAtNanoUsd;
    }
    assert.equal(end, balance.settledNanoUsd, `L6: ${partition}`);
  }

  function checkAdmission(partition: Partition, command: Commands["reserve"]["command"], reply: Reply): void {
    if (!("status" in reply) || reply.status !== "reserved") return;
    const key = `${partition} ${command.id}`;
    const isFirst = !answers.has(key);
    const text = JSON.stringify({ ...reply, availableNanoUsd: undefined });
    assert.equal(text, answers.get(key) ?? text, `L7: ${key}`);
    answers.set(key, text);
    if (!isFirst) return;
    if (command.claim !== undefined) checkClaim(partition, command, command.claim);
    const { at } = command;
    const keyId = host.rows(partition).get("receipt", command.id)?.keyId ?? null;
    if (keyId !== null) checkKey(partition, keyId, command);
    // Nothing needs no room.
    if (command.amountNanoUsd === 0) return;
    if (keyId === null) {
      withinLimit(viewOf(partition, "capacity", at), `L2: ${key}`);
      checkCapacity(partition, at);
      return;
    }
    withinLimit(viewOf(partition, "balance", at), `L1: ${key}`);
    for (const limit of limitsOf(command.server?.agent ?? null)) checkAllowed(partition, limit, at);
  }

  /** L2 and L12. */
  function checkKey(
    partition: Partition,
    keyId: string,
    { at, amountNanoUsd, tokens = 0 }: Commands["reserve"]["command"],
  ) {
    const view = answer(host.rows(partition), { type: "key", keyId, at });
    const key = model.keys().find((one) => one.account === partition && one.keyId === keyId);
    const { settled, held } = model.spent(partition, key?.window ?? "lifetime", at, keyId);
    const { settledNanoUsd, heldNanoUsd } = view?.budget ?? {};
    assert.deepEqual([settledNanoUsd, heldNanoUsd], [settled, held], `L12: ${partition} ${keyId}`);
    const counted = key?.limits.map((limit) => ({ limit, ...model.spentOf(partition, keyId, limit, at) })) ?? [];
    const shown = view?.limits.map((one) => ({ limit: one.limit, settled: one.used, held: one.held })) ?? [];
    assert.deepEqual(new Set(shown), new Set(counted), `L12: ${partition} ${keyId}`);
    for (const { limit, settled, held } of counted) {
      const needed = { nano_usd: amountNanoUsd, requests: 1, tokens }[limit.unit];
      if (needed > 0) assert.ok(settled + held <= limit.most, `L2: ${partition} ${keyId} ${JSON.stringify(limit)}`);
    }
  }

  function viewOf(partition: Partition, type: "balance" | "capacity", at: number): View {
    const view = answer(host.rows(partition), { type, at });
    const { settled, held } = model.spent(partition, type === "balance" ? "lifetime" : "day", at);
    assert.deepEqual([view.settledNanoUsd, view.heldNanoUsd], [settled, held], `L12: ${partition}`);
    return view;
  }

  /** An account's use and holds of a limit on a day. */
  function usedOf(partition: Partition, limit: Partition, at: number): { used: number; held: number } {
    const own = model
      .holds(partition)
      .filter((hold) => windowName("day", hold.at) === windowName("day", at))
      .filter(({ server }) => limitsOf(server?.agent ?? null).includes(limit));
    return {
      used: sumOf(own.map(({ charge }) => charge)),
      held: sumOf(own.filter(isHeld).map(({ amount }) => amount)),
    };
  }

  /** A limit deletes the rows of days before yesterday. */
  function isForgotten(day: number): boolean {
    return day < windowStart("day", clock.now) - DAY_MS;
  }

  /** L3. */
  function checkAllowed(partition: Partition, limit: Partition, at: number): void {
    const day = Date.parse(windowName("day", at));
    if (isForgotten(day)) return;
    const { used, held } = usedOf(partition, limit, at);
    const allowed = host.rows(limit).get("allowance", allowanceId(day, partition))?.allowedNanoUsd ?? 0;
    assert.ok(used + held <= allowed, `L3: ${partition} used and holds ${used + held} of ${allowed} of ${limit}`);
  }

  /** L4, L17 and L18. */
  function checkLimit(limit: Partition, day: number): void {
    if (isForgotten(day)) return;
    const rows = host.rows(limit);
    const own = rows.list("allowance", { limit: 10_000 }).filter(({ id }) => id.startsWith(`${day} `));
    const used = sumOf(own.map(({ usedNanoUsd }) => usedNanoUsd));
    const unused = sumOf(own.map(({ allowedNanoUsd }) => allowedNanoUsd)) - used;
    const { settled, held } = model.limits.spent(limit, day);
    assert.deepEqual([used, unused], [settled, held], `L4: ${limit}`);
    const isCeiling = limit === ceilingPartition;
    const view = isCeiling ? answer(rows, { type: "ceiling", at: day }) : answer(rows, { type: "offer", at: day });
    const counted = "soldNanoUsd" in view ? view.soldNanoUsd : view.settledNanoUsd;
    assert.deepEqual([counted, view.heldNanoUsd], [used, unused], `L4: ${limit}`);
    if (!model.limits.hasRaised()) return;
    const most = isCeiling ? model.limits.limitOf(day) : (model.saleLimit(limit, day)?.limit ?? 0);
    assert.ok(settled + held <= most, `L17: ${limit} allows ${settled + held} of ${most}`);
    if (!isCeiling) checkCapacity(limit, day);
  }

  /** L18. */
  function checkCapacity(partition: Partition, at: number): void {
    const own = model.spent(partition, "day", at);
    const sold = model.limits.spent(partition, at);
    const all = own.settled + own.held + sold.settled + sold.held;
    const capacity = model.capacityOf(partition, at);
    assert.ok(all <= capacity, `L18: ${partition} gives ${all} of ${capacity}`);
    const view = answer(host.rows(partition), { type: "offer", at });
    const told = [view.soldNanoUsd, view.heldNanoUsd, view.ownNanoUsd];
    assert.deepEqual(told, [sold.settled, sold.held, own.settled + own.held], `L12: ${partition}`);
  }

  function checkClaim(partition: Partition, { id, at }: { id: string; at: number }, claim: Claim): void {
    const name = `${partition} ${claim.id}`;
    const earlier = named.get(name) ?? [];
    for (const other of earlier.filter(({ expiresAt }) => expiresAt > at)) {
      const state = host.rows(partition).get("receipt", other.id)?.state;
      assert.ok(state === undefined || state === "released", `L14: ${id} beside ${other.id}, which is ${state}`);
    }
    named.set(name, [...earlier, { id, expiresAt: claim.expiresAt }]);
  }

  /** An id that is forgotten is as if it had never been. */
  function checkForgotten(partition: Partition, { table, ids }: Commands["forget"]["command"]): void {
    const rows = host.rows(partition);
    for (const id of ids) {
      if (rows.get(table, id) !== undefined) continue;
      answers.delete(`${partition} ${id}`);
      ended.delete(`${partition} ${id}`);
      if (table !== "key") continue;
      const left = (["key", "secret", "counter"] as const)
        .flatMap((name) => rows.list(name, { limit: 10_000 }))
        .filter((row) => new RegExp(`"(key:)?${id}[@":]`).test(JSON.stringify(row)));
      assert.deepEqual(left, [], `L15: ${partition}`);
    }
  }

  /** Its rows are an older copy: what its ids answered since is forgotten. */
  function putBack(partition: Partition): void {
    restored.add(partition);
    const isOther = ([key]: [string, string]): boolean => !key.startsWith(`${partition} `);
    ended = new Map([...ended].filter(isOther));
    answers = new Map([...answers].filter(isOther));
    named.clear();
  }

  /** L8 and L11. */
  function checkDrained(): void {
    assert.deepEqual(host.all("outbox"), [], "L8: deliveries are left");
    for (const { partition, row } of host.all("receipt")) assert.ok(!isHold(row), `L8: ${partition} holds ${row.id}`);
    // A late ask may still raise a row of a day that is over.
    const recent = host
      .all("allowance")
      .filter(({ row }) => Number(row.id.split(" ")[0]) >= windowStart("day", clock.now) - DAY_MS);
    for (const { partition, row } of recent) {
      // A limit may have allowed what the copy does not know. It stays allowed until the account asks again.
      if (restored.has(row.id.slice(row.id.indexOf(" ") + 1))) continue;
      assert.equal(row.allowedNanoUsd, row.usedNanoUsd, `L8: ${partition} ${row.id} is allowed more than was used`);
    }
    for (const { partition, row } of recent) {
      const [day = "", limit = ""] = row.id.split(" ");
      // The rows of a limit tell of its accounts, which have theirs.
      if (!partition.startsWith("account:") || restored.has(partition)) continue;
      const { used } = usedOf(partition, limit, Number(day));
      assert.equal(row.usedNanoUsd, used, `L11: ${partition} ${row.id}`);
      assert.equal(model.limits.usedBy(limit, partition, Number(day)), used, `L11: ${limit} of ${partition}`);
    }
  }

  return { check, checkDrained, putBack };
}

type View = { limitNanoUsd: number | null; settledNanoUsd: number; heldNanoUsd: number };

function withinLimit(view: View | undefined, what: string): void {
  assert.ok(view !== undefined, what);
  if (view.limitNanoUsd !== null) assert.ok(view.settledNanoUsd + view.heldNanoUsd <= view.limitNanoUsd, what);
}

function sumOf(amounts: readonly number[]): number {
  return amounts.reduce((sum, amount) => sum + amount, 0);
}
