import assert from "node:assert/strict";
import type { Address } from "@inference/protocol/credential";
import { DAY_MS } from "@inference/protocol/window";
import type { Claim, Command, Commands, Reply } from "../commands.ts";
import {
  agentPartition,
  ceilingPartition,
  isCeiling,
  isCeilingShard,
  journalPartition,
  type Partition,
} from "../partition.ts";
import { answer } from "../reads.ts";
import type { CounterRow, HoldRow, SessionRow } from "../tables.ts";
import { type Model, SALE, windowName } from "./model.ts";
import type { WorldHost } from "./world.ts";

/**
 * What always holds, of the rows as they are stored.
 *
 * | | |
 * |---|---|
 * | L1 | a balance's settled + held never exceeds what was credited; at an admission, nor what of it is left |
 * | L2 | at an admission a key's settled + held, in the window of that time, is within its limit; a capacity's likewise |
 * | L3 | at an admission the day's settled + held is within the ceiling, and what its account holds within 20 % of it, also of what its shard knows of it |
 * | L4 | every counter is the sum of its holds, receipts and uses, and there is no counter of anything else |
 * | L5 | a hold ends at most once, and is charged at most its amount |
 * | L6 | delivered, every settled receipt of an account is one use of equal amount in the journal of its admission's day |
 * | L7 | an id's answer never changes |
 * | L8 | with every hold ended and every delivery done, nothing is held anywhere |
 * | L9 | a balance is the sum of its credits less that of its foreign debits, each counted once |
 * | L10 | rows hold strings, safe integers, amounts and null, each where it belongs (the host refuses others) |
 * | L11 | wherever a saga stops, the sweeper ends what it left, and account and ceiling agree to the nano-dollar |
 * | L12 | what is read is what is counted |
 * | L13 | the totals of a day and key are its receipts, counted once each |
 * | L14 | of the requests under one name, while it lasts, at most one is open or settled |
 * | L15 | of a forgotten key and session nothing is left that opens or counts; an account counts its keys that live |
 * | L16 | a request whose reservation failed and was undone is held nowhere, whatever arrives late, but by an agent that had not taken it (see `play.ts`) |
 * | L17 | a use is in one batch at most; a batch that is built has the uses that it was built of, and no others |
 * | L18 | at a sale's admission the day's sold + held is within the share of the capacity that is offered; at any admission, with own use, within the capacity |
 * | L19 | a use's server and offer are those of its hold; delivered, an agent's sales of a day are its uses of that day |
 * | L20 | a block is held by its ceiling, whole and under its day, until it ends; what it covers never exceeds it |
 * | L21 | delivered, what a shard of the ceiling has settled for its accounts is what the ceiling has settled for it |
 * | L22 | delivered, a day's own journal names every other one that has uses of the day |
 */
export function makeAuditor(host: Pick<WorldHost, "rows" | "all">, model: Model) {
  const ended = new Map<string, string>();
  const answers = new Map<string, string>();
  const known = new Set<string>();
  const named = new Map<string, { id: string; expiresAt: number }[]>();
  /** What was there and counts: holds, and the sessions of identities. */
  const seen = new Map<string, HoldRow | SessionRow>();
  /** The keys and the counters that were forgotten. */
  const gone = new Set<string>();

  function check(partition: Partition, command: Command, reply: Reply): void {
    if (command.type.startsWith("reserve")) checkAdmission(partition, command as ReserveCommand, reply);
    if (command.type === "setCapacity") endedDaysGo(partition, command.at);
    if (command.type === "forget") checkForgotten(partition, command);
    if (command.type === "setKeyTerms") windowsChange(partition, command);
    const holds = host.rows(partition).list("hold", { limit: 10_000 });
    for (const hold of holds) checkHold(partition, hold);
    for (const row of [...holds, ...host.rows(partition).list("session", { limit: 100 })]) {
      seen.set(`${partition} ${row.id}`, row);
    }
    checkCounters(partition, holds);
    checkTotals(partition);
    if (partition.startsWith("account:")) checkBalance(partition);
    if (partition.startsWith("account:") || isCeilingShard(partition)) checkBlocks(partition, holds);
    if (isOfBatches(command)) checkBatches();
  }

  function checkBatches(): void {
    const batches = new Map(host.all("batch").map(({ row }) => [Number(row.id), row]));
    for (const { id, journal, state, root, amountNanoUsd, uses: count } of batches.values()) {
      if (root === null || state === "rejected") continue;
      const own = host
        .rows(journalPartition(journal))
        .list("use", { limit: 10_000 })
        .filter(({ batch }) => batch === Number(id));
      assert.equal(own.map((use) => use.id).join(), root, `L17: batch ${id}`);
      const sum = own.reduce((total, { chargeNanoUsd }) => total + chargeNanoUsd, 0);
      assert.deepEqual([own.length, sum], [count, amountNanoUsd], `L17: batch ${id}`);
    }
    for (const { partition, row } of host.all("use")) {
      if (row.batch === null || row.batch === 0) continue;
      const journal = batches.get(row.batch)?.journal ?? "";
      assert.equal(journalPartition(journal), partition, `L17: use ${row.id} is in batch ${row.batch}`);
    }
  }

  function checkTotals(partition: Partition): void {
    const rows = host.rows(partition);
    const expected = new Map<string, number[]>();
    for (const { admittedAt, keyId, chargeNanoUsd } of rows.list("receipt", { limit: 10_000 })) {
      const id = `${windowName("day", admittedAt)} ${keyId ?? ""} `;
      const [requests = 0, charge = 0] = expected.get(id) ?? [];
      expected.set(id, [requests + 1, charge + chargeNanoUsd]);
    }
    const actual = rows.list("total", { limit: 10_000 }).map((row) => [row.id, [row.requests, row.chargeNanoUsd]]);
    assert.deepEqual(
      actual,
      [...expected].sort(([one], [other]) => (one < other ? -1 : 1)),
      `L13: ${partition}`,
    );
  }

  /** An id that is forgotten is as if it had never been; that its old commands come too late, the model says. */
  function checkForgotten(partition: Partition, { table, ids, at }: Commands["forget"]["command"]): void {
    const rows = host.rows(partition);
    for (const id of ids) {
      if (rows.get(table, id) !== undefined) continue;
      const key = `${partition} ${id}`;
      const was = seen.get(key);
      if (table === "key") {
        checkNothingLeft(partition, (text) => new RegExp(`"(key:)?${id}[@"]`).test(text));
        gone.add(key);
      }
      if (was !== undefined && "expiresAt" in was) checkCapacities(partition, was);
      // A tombstone, or what was refused, counted nowhere.
      if (was !== undefined && "counters" in was && was.counters !== "") countersGo(partition, was, at);
      if (table !== "hold") continue;
      answers.delete(key);
      ended.delete(key);
      known.delete(key);
    }
  }

  function checkNothingLeft(partition: Partition, isOfIt: (text: string) => boolean): void {
    const left = (["key", "secret", "budget", "counter"] as const)
      .flatMap((table) => host.rows(partition).list(table, { limit: 10_000 }))
      .filter((row) => isOfIt(JSON.stringify(row)));
    assert.deepEqual(left, [], `L15: ${partition}`);
  }

  function checkCapacities(partition: Partition, { createdAt, expiresAt }: SessionRow): void {
    for (let at = createdAt; at <= expiresAt; at += 3_600_000) {
      const day = Date.parse(windowName("day", at));
      checkNothingLeft(partition, (text) => text.includes(`capacity:${day}`));
      for (const name of ["capacity", "sales"]) gone.add(`${partition} ${name}:${day}@${day}`);
    }
  }

  /** With the capacity of a new day go those of ended ones on which nothing is open. Clocks differ by two minutes. */
  function endedDaysGo(partition: Partition, at: number): void {
    const rows = host.rows(partition);
    const days = model.settled.filter((one) => one.partition === partition).map((one) => one.at);
    for (const day of days.filter((day) => windowName("day", day) < windowName("day", at - 120_001))) {
      for (const isSale of [false, true]) {
        const [name = ""] = counterNames(partition, null, day, isSale);
        if (rows.get("counter", name) === undefined) gone.add(`${partition} ${name}`);
      }
    }
  }

  /**
   * In another window a key is counted as if it had always been its own, but for the windows before: nobody asks for
   * those. Clocks differ by two minutes.
   */
  function windowsChange(partition: Partition, { keyId, at }: Commands["setKeyTerms"]["command"]): void {
    const rows = host.rows(partition);
    const spent = [...rows.list("receipt", { limit: 10_000 }), ...rows.list("hold", { limit: 10_000 })];
    const names = spent
      .filter((one) => one.keyId === keyId)
      .flatMap(({ admittedAt }) => counterNames(partition, keyId, admittedAt))
      .filter((name) => name.startsWith("key:"));
    const near = [at - 120_000, at, at + 120_000].flatMap((time) => counterNames(partition, keyId, time));
    for (const name of names) {
      const isCounted = near.includes(name) || rows.get("counter", name) !== undefined;
      if (isCounted) gone.delete(`${partition} ${name}`);
      else gone.add(`${partition} ${name}`);
    }
  }

  /**
   * With a hold goes what it counted in, and a key in months before, where that is over and nothing is open in it. If
   * its key had another window then, its counter may have the name of one of the present windows.
   */
  function countersGo(partition: Partition, { owner, keyId, admittedAt, counters }: HoldRow, at: number): void {
    const holds = host.rows(partition).list("hold", { limit: 10_000 });
    const open = holds.filter(({ state }) => state === "open" || state === "orphaned");
    const inUse = new Set(
      open.flatMap((hold) => counterNames(partition, hold.keyId, hold.admittedAt, hold.owner !== partition)),
    );
    const key = model.keys().find((other) => other.account === partition && other.keyId === keyId);
    const window = key?.window ?? "day";
    const times = [admittedAt];
    for (let earlier = admittedAt; window === "month" && earlier > (key?.at ?? 0) - 3 * DAY_MS; earlier -= DAY_MS) {
      times.push(earlier);
    }
    for (const name of counters.split(" ")) if (name.startsWith("key:")) times.push(Number(name.split("@")[1]));
    for (const time of times) {
      // Clocks differ by two minutes.
      if (windowName(window, time) === windowName(window, at - 120_001) || window === "lifetime") continue;
      const isOwn = owner === partition;
      const names = counterNames(partition, isOwn ? keyId : null, time, !isOwn).filter((name) => !/@0$/.test(name));
      for (const name of names) if (!inUse.has(name)) gone.add(`${partition} ${name}`);
    }
  }

  function checkAdmission(partition: Partition, command: ReserveCommand, reply: Reply): void {
    const key = `${partition} ${command.id}`;
    const status = "status" in reply ? reply.status : "";
    if (status !== "reserved" && (status !== "refused" || command.type !== "reserveCeiling")) return;
    // Whether its block covers it may change, but not whether it is admitted.
    const asked = { wantedNanoUsd: undefined, leastNanoUsd: undefined, ownNanoUsd: undefined };
    const text = JSON.stringify({ ...reply, ...asked, isCovered: undefined, limitNanoUsd: undefined });
    assert.equal(text, answers.get(key) ?? text, `L7: ${key}`);
    answers.set(key, text);
    if (status === "refused" || known.has(key)) return;
    known.add(key);
    if (command.type === "reserve" && command.claim !== undefined) checkClaim(partition, command, command.claim);
    // Nothing needs no room.
    if (command.amountNanoUsd === 0) return;
    const rows = host.rows(partition);
    if (partition.startsWith("identity:")) checkCapacity(partition, command);
    if (command.type === "reserveOffer") return;
    if (command.type === "reserve") {
      const hold = rows.get("hold", command.id);
      const keyId = hold?.keyId ?? null;
      const view =
        keyId === null
          ? answer(rows, { type: "capacity", at: command.at })
          : answer(rows, { type: "key", keyId, at: command.at })?.budget;
      withinLimit(view, `L2: ${key}`);
      if (keyId !== null) withinLimit(answer(rows, { type: "balance", at: command.at }), `L1: ${key}`);
      return;
    }
    const shareOf = (owner: string) => rows.get("counter", `share:${owner}@0`)?.heldNanoUsd ?? 0;
    if (!isCeilingShard(partition)) withinLimit(answer(rows, { type: "ceiling", at: command.at }), `L3: ${key}`);
    // What a shard does not cover, the ceiling checks.
    else if (rows.get("hold", command.id)?.followers !== "") return;
    const limit = isCeilingShard(partition) ? model.blocks.limit(partition) : model.ceiling();
    const { ownNanoUsd } = command;
    const share = ownNanoUsd === undefined ? shareOf(command.owner) : ownNanoUsd + command.amountNanoUsd;
    assert.ok(BigInt(share) * 5n <= BigInt(limit), `L3: ${command.owner} holds ${share} of ${limit} in ${partition}`);
  }

  /** L18, with sums of the model's own. */
  function checkCapacity(partition: Partition, command: ReserveCommand): void {
    const { at } = command;
    const capacity = model.capacityOf(partition, at);
    const sales = model.spent(partition, "day", at, SALE);
    const all = model.spent(partition, "day", at);
    assert.ok(all.settled + all.held <= capacity, `L18: ${partition} gives ${all.settled + all.held} of ${capacity}`);
    const view = answer(host.rows(partition), { type: "offer", at });
    const own = all.settled + all.held - sales.settled - sales.held;
    const [limit, hash] = [model.saleLimit(partition, capacity, at)?.limit ?? 0, view.last?.hash];
    assert.deepEqual(
      [view.soldNanoUsd, view.heldNanoUsd, view.ownNanoUsd, view.capacityNanoUsd, view.limitNanoUsd],
      [sales.settled, sales.held, own, capacity, limit],
      `L12: ${partition}`,
    );
    if (command.type !== "reserveOffer") return;
    assert.ok(view.isInForce && hash === command.offer, `L18: ${command.id} is sold under ${command.offer}`);
    assert.ok(sales.settled + sales.held <= limit, `L18: ${partition} sells ${sales.settled + sales.held} of ${limit}`);
  }

  function checkClaim(partition: Partition, { id, at }: { id: string; at: number }, claim: Claim): void {
    const name = `${partition} ${claim.id}`;
    const earlier = named.get(name) ?? [];
    for (const other of earlier.filter(({ expiresAt }) => expiresAt > at)) {
      const state = host.rows(partition).get("hold", other.id)?.state;
      assert.ok(state === undefined || state === "released", `L14: ${id} beside ${other.id}, which is ${state}`);
    }
    named.set(name, [...earlier, { id, expiresAt: claim.expiresAt }]);
  }

  function checkHold(partition: Partition, { id, state, chargeNanoUsd, amountNanoUsd }: HoldRow): void {
    const key = `${partition} ${id}`;
    assert.ok(chargeNanoUsd <= amountNanoUsd, `L5: ${key} is charged ${chargeNanoUsd} of ${amountNanoUsd}`);
    if (state === "open" || state === "orphaned") {
      assert.ok(!ended.has(key), `L5: ${key} is open again`);
      return;
    }
    const end = `${state} at ${chargeNanoUsd}`;
    assert.equal(end, ended.get(key) ?? end, `L5: ${key}`);
    ended.set(key, end);
  }

  function checkCounters(partition: Partition, holds: HoldRow[]): void {
    const expected = new Map<string, CounterRow>();
    const count = (id: string, settledNanoUsd: number, heldNanoUsd: number, openHolds: number): void => {
      if (gone.has(`${partition} ${id}`)) return;
      const sum = expected.get(id) ?? { id, settledNanoUsd: 0, heldNanoUsd: 0, openHolds: 0 };
      sum.settledNanoUsd += settledNanoUsd;
      sum.heldNanoUsd += heldNanoUsd;
      sum.openHolds += openHolds;
      expected.set(id, sum);
    };
    const rows = host.rows(partition);
    for (const hold of holds.filter(({ state }) => state === "open" || state === "orphaned")) {
      const isOwn = hold.owner === partition;
      const names = counterNames(partition, isOwn ? hold.keyId : hold.owner, hold.admittedAt, !isOwn);
      for (const id of names) count(id, 0, hold.amountNanoUsd, 1);
      const { isCovered, asks, isBlock } = model.find(partition, hold.id) ?? {};
      if (isCovered) count(blockCounter(hold.admittedAt), 0, hold.amountNanoUsd, 1);
      const slot = hold.admittedAt - (hold.admittedAt % 10_000);
      if (asks) count(`asking@${slot}`, 0, hold.amountNanoUsd, 1);
      if (isBlock) count("blocks@0", 0, hold.amountNanoUsd, 1);
    }
    for (const { drawnAt } of rows.list("block", { limit: 100 })) {
      count(blockCounter(drawnAt), model.blocks.ofDay(partition, drawnAt)?.settled ?? 0, 0, 0);
    }
    for (const { admittedAt, chargeNanoUsd, keyId } of rows.list("receipt", { limit: 10_000 })) {
      for (const id of counterNames(partition, keyId, admittedAt)) count(id, chargeNanoUsd, 0, 0);
    }
    // A follower has no receipts.
    for (const { at, charge, keyId } of model.settled.filter((one) => one.partition === partition)) {
      if (!isCeiling(partition) && keyId !== SALE) continue;
      for (const id of counterNames(partition, null, at, true)) count(id, charge, 0, 0);
    }
    for (const use of rows.list("use", { limit: 10_000 })) count("uses@0", use.chargeNanoUsd, 0, 0);
    const isAny = (row: CounterRow) => row.settledNanoUsd + row.heldNanoUsd + row.openHolds > 0;
    const actual = rows.list("counter", { limit: 10_000 }).filter(isAny);
    assert.deepEqual(
      actual,
      [...expected.values()].filter(isAny).sort((a, b) => (a.id < b.id ? -1 : 1)),
      `L4: ${partition}`,
    );
  }

  /** The counters a hold or a receipt should count in. */
  function counterNames(partition: Partition, binds: string | null, at: number, isSale = false): string[] {
    const day = Date.parse(`${windowName("day", at)}T00:00:00Z`);
    if (partition.startsWith("identity:")) return [`${isSale ? "sales" : "capacity"}:${day}@${day}`];
    if (isCeiling(partition)) return [`ceiling@${day}`, ...(binds === null ? [] : [`share:${binds}@0`])];
    const key = model.keys().find(({ account, keyId }) => account === partition && keyId === binds);
    if (key === undefined) {
      assert.ok(gone.has(`${partition} ${binds}`), `L4: ${partition} counts a request without a key`);
      return ["balance@0"];
    }
    const month = Date.parse(`${windowName("month", at)}-01T00:00:00Z`);
    return ["balance@0", `key:${binds}@${{ day, month, lifetime: 0 }[key.window]}`];
  }

  function blockCounter(at: number): string {
    const day = Date.parse(`${windowName("day", at)}T00:00:00Z`);
    return `block:${day}@${day}`;
  }

  /** L20. */
  function checkBlocks(partition: Partition, holds: HoldRow[]): void {
    const rows = host.rows(partition);
    const days = new Set<string>();
    for (const { drawnBy, drawnAt, amountNanoUsd, ceiling } of rows.list("block", { limit: 100 })) {
      const day = windowName("day", drawnAt);
      days.add(day);
      const { settledNanoUsd = 0, heldNanoUsd = 0 } = rows.get("counter", blockCounter(drawnAt)) ?? {};
      assert.ok(settledNanoUsd + heldNanoUsd <= amountNanoUsd, `L20: ${partition} covers ${heldNanoUsd} of ${day}`);
      const held = host.rows(ceiling ?? ceilingPartition).get("hold", drawnBy);
      assert.deepEqual(
        [held?.state, held?.owner, held?.amountNanoUsd, windowName("day", held?.admittedAt ?? 0)],
        ["open", partition, amountNanoUsd, day],
        `L20: ${drawnBy}`,
      );
    }
    for (const { id, state, owner, keyId, followers, admittedAt } of holds) {
      const isPrepaid = keyId !== null || owner !== partition;
      if ((state !== "open" && state !== "orphaned") || !isPrepaid || followers.includes("ceiling")) continue;
      assert.ok(days.has(windowName("day", admittedAt)), `L20: nothing covers ${partition} ${id}`);
    }
  }

  function checkBalance(partition: Partition): void {
    const rows = host.rows(partition);
    assert.equal(rows.get("account", "account")?.keys ?? 0, rows.liveKeys().length, `L15: ${partition}`);
    const balance = answer(rows, { type: "balance", at: 0 });
    const credited = rows.list("credit", { limit: 100 }).reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0);
    const debited = rows.list("debit", { limit: 100 }).reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0);
    const limitNanoUsd = credited - debited;
    assert.equal(balance.limitNanoUsd, limitNanoUsd, `L9: ${partition}`);
    assert.equal(limitNanoUsd, model.credited(partition), `L9: ${partition}`);
    assert.ok(balance.settledNanoUsd + balance.heldNanoUsd <= credited, `L1: ${partition}`);
    const { settled, held } = model.spent(partition, "lifetime", 0);
    const availableNanoUsd = Math.max(0, limitNanoUsd - settled - held);
    assert.deepEqual(
      balance,
      {
        window: "lifetime",
        limitNanoUsd,
        settledNanoUsd: settled,
        heldNanoUsd: held,
        availableNanoUsd,
        resetsAt: null,
      },
      `L12: ${partition}`,
    );
  }

  function checkDrained(): void {
    assert.deepEqual(host.all("outbox"), [], "L8: deliveries are left");
    for (const { partition, row } of host.all("hold")) {
      assert.ok(row.state !== "open" && row.state !== "orphaned", `L8: ${partition} still holds ${row.id}`);
    }
    assert.deepEqual(host.all("block"), [], "L8: blocks are left");
    for (const { partition, row } of host.all("counter")) {
      assert.equal(row.heldNanoUsd + row.openHolds, 0, `L8: ${partition} still counts ${row.id}`);
    }
    const settled = host
      .all("receipt")
      .filter(({ partition, row }) => partition.startsWith("account:") && row.outcome === "settled");
    const due = settled.map(({ partition, row }) => {
      const server = model.servers.get(`${partition} ${row.id}`);
      const paid = [`account:${partition.slice(8)}`, row.chargeNanoUsd, server?.agent ?? "protocol", server?.offer];
      // `ceiling:2` has a journal `<day>:2`.
      const shard = (model.ceilings.get(`${partition} ${row.id}`) ?? "").slice("ceiling".length);
      return [`journal:${windowName("day", row.admittedAt)}${shard}`, row.id, ...paid];
    });
    const written = host.all("use").map(({ partition, row }) => {
      return [partition, row.id, `account:${row.account}`, row.chargeNanoUsd, row.server, row.offer];
    });
    assert.deepEqual(written.map(String).sort(), due.map(String).sort(), "L6 and L19");
    checkSales();
    checkJournals();
    const days = new Map<string, number>();
    for (const { row } of settled) {
      const day = windowName("day", row.admittedAt);
      days.set(day, (days.get(day) ?? 0) + row.chargeNanoUsd);
    }
    for (const { at, charge } of model.carried) {
      const day = windowName("day", at);
      days.set(day, (days.get(day) ?? 0) + charge);
    }
    for (const [day, total] of days) {
      if (gone.has(`${ceilingPartition} ceiling@${Date.parse(day)}`)) continue;
      const { settledNanoUsd } = answer(host.rows(ceilingPartition), { type: "ceiling", at: Date.parse(day) });
      assert.equal(settledNanoUsd, total, `L11: the ceiling of ${day}`);
    }
    checkShards();
  }

  /** L21. */
  function checkShards(): void {
    const days = new Map<string, number>();
    for (const { partition, keyId, at, charge } of model.settled) {
      if (partition !== ceilingPartition || keyId === null || !isCeilingShard(keyId)) continue;
      const [name = ""] = counterNames(keyId, null, at);
      days.set(`${keyId} ${name}`, (days.get(`${keyId} ${name}`) ?? 0) + charge);
    }
    for (const [name, total] of days) {
      const [shard = "", counter = ""] = name.split(" ");
      if (gone.has(name)) continue;
      assert.equal(host.rows(shard).get("counter", counter)?.settledNanoUsd ?? 0, total, `L21: ${name}`);
    }
    for (const { partition, row } of host.all("counter")) {
      const isOfDay = isCeilingShard(partition) && row.id.startsWith("ceiling@") && row.settledNanoUsd > 0;
      if (isOfDay) assert.ok(days.has(`${partition} ${row.id}`), `L21: ${partition} ${row.id}`);
    }
  }

  /** L22. */
  function checkJournals(): void {
    const days = Map.groupBy(host.all("use"), ({ row }) => windowName("day", row.admittedAt));
    for (const [day, uses] of days) {
      const rows = host.rows(journalPartition(day));
      const known = [day, ...answer(rows, { type: "shards" })].map(journalPartition);
      const others = uses.filter(({ partition }) => !known.includes(partition));
      assert.deepEqual(others, [], `L22: ${day}`);
    }
  }

  function checkSales(): void {
    const sums = new Map<string, number>();
    for (const { row } of host.all("use")) {
      if (row.server === "protocol") continue;
      const agent = agentPartition(row.server as Address);
      const [name = ""] = counterNames(agent, null, row.admittedAt, true);
      if (gone.has(`${agent} ${name}`)) continue;
      sums.set(`${agent} ${name}`, (sums.get(`${agent} ${name}`) ?? 0) + row.chargeNanoUsd);
    }
    const sold = host.all("counter").filter(({ row }) => row.id.startsWith("sales:") && row.settledNanoUsd > 0);
    const any = [...sums].filter(([, sum]) => sum > 0).map(String);
    assert.deepEqual(
      sold.map(({ partition, row }) => `${partition} ${row.id},${row.settledNanoUsd}`).sort(),
      any.sort(),
      "L19",
    );
  }

  return { check, checkDrained };
}

type ReserveCommand = Extract<Command, { type: "reserve" | "reserveCeiling" | "reserveOffer" }>;

type View = { limitNanoUsd: number | null; settledNanoUsd: number; heldNanoUsd: number };

function withinLimit(view: View | undefined, what: string): void {
  assert.ok(view !== undefined, what);
  if (view.limitNanoUsd !== null) assert.ok(view.settledNanoUsd + view.heldNanoUsd <= view.limitNanoUsd, what);
}

function isOfBatches({ type }: Command): boolean {
  return type.endsWith("Batch") || type === "gatherUses" || type === "returnUses";
}
