import assert from "node:assert/strict";
import { test } from "node:test";
import type { LedgerClient } from "@inference/ledger/client";
import { accountPartition } from "@inference/ledger/partition";
import { answer, type PlacedUse } from "@inference/ledger/reads";
import type { ServedPart } from "@inference/protocol/chunk";
import type { Address } from "@inference/protocol/credential";
import { merkleRootOf, pureKeccak } from "@inference/protocol/merkle-tree";
import { makeLeafOf } from "@inference/protocol/use-leaf";
import { bytesToHex } from "viem";
import { statementTrees } from "./statement-tree.ts";
import { createStatements, type Statements } from "./statements.ts";
import { accounts, makeGateway, partition, type SimulatedGateway, terms } from "./testing/simulated-gateway.ts";

/** The job that makes statements, on accounts in memory. */
const [alice = "0x", bob = "0x"] = accounts;
const settlement = { chainId: 31337, address: "0x00000000000000000000000000000000005e7713" } as const;
const MINUTE = 60_000;
const DAY = 20_000;

type World = SimulatedGateway & { statements: Statements };

/** @param change What the uses of Alice become. */
async function makeWorld(
  options: { maxUses?: number; change?: (use: PlacedUse, index: number) => PlacedUse | null } = {},
): Promise<World> {
  const { change = (use) => use, maxUses } = options;
  const gateway = makeGateway();
  const { host, clock, alerts } = gateway;
  const ledger: LedgerClient = {
    ...host,
    async read(where, query) {
      const found = await host.read(where, query);
      if (query.type !== "uses" || where !== accountPartition(alice)) return found;
      const all = answer(host.rows(where), { type: "uses", afterNanoUsd: 0, limit: 1_000 });
      const indexOf = ({ id }: PlacedUse) => all.findIndex((one) => one.id === id);
      return (found as PlacedUse[]).flatMap((use) => change(use, indexOf(use)) ?? []) as never;
    },
  };
  const statements = createStatements({
    ...{ ledger, chainId: 31337, terms, now: () => clock.now, onAlert: (message) => void alerts.push(message) },
    makeTree: statementTrees(settlement, pureKeccak),
    ...(maxUses === undefined ? {} : { maxUses }),
  });
  await gateway.start().watcher.poll();
  return { ...gateway, statements };
}

const toldBy = ({ host }: World, account: Address) => {
  const reply = host.apply(partition, { type: "inquire", account });
  return reply.status === "answered" ? reply.hearing.told : null;
};
const billOf = ({ host }: World, account: Address) => answer(host.rows(accountPartition(account)), { type: "bill" });
const agent = (index: number): Address => `0x${String(index).padStart(40, "a")}`;
const servedBy = (index: number) => ({ server: agent(index), offer: `0x${"5".repeat(64)}` });

test("a statement has the root of its uses in their order, and its uses fill it", async () => {
  const world = await makeWorld();
  for (const amount of [2, 40, 600]) await world.use(alice, amount);
  world.clock.now += terms.intervalMs;
  await world.statements.poll();
  const told = toldBy(world, alice);
  const uses = answer(world.host.rows(accountPartition(alice)), { type: "uses", afterNanoUsd: 0, limit: 9 });
  const leafOf = makeLeafOf(settlement, alice);
  const leaves = uses.map((use) =>
    leafOf({ ...use, receipt: use.receipt as never, dayServed: DAY, agent: undefined }, 0),
  );
  assert.deepEqual([told?.beforeNanoUsd, told?.afterNanoUsd], [0, 321]);
  assert.equal(told?.root, bytesToHex(merkleRootOf(leaves, pureKeccak)));
  assert.deepEqual(world.alerts, []);
});

test("the parts of a statement are the amounts that each agent served on each day", async () => {
  const world = await makeWorld({
    change: (use, index) => ({ ...use, ...(index === 0 ? {} : servedBy(index % 2)) }),
  });
  for (const amount of [2, 40, 600, 8_000]) await world.use(alice, amount);
  world.clock.now += terms.intervalMs;
  await world.statements.poll();
  const parts: ServedPart[] = JSON.parse(toldBy(world, alice)?.parts ?? "[]");
  assert.deepEqual(parts, [
    { agent: agent(1), day: DAY, amountNanoUsd: 20 + 4_000 },
    { agent: agent(0), day: DAY, amountNanoUsd: 300 },
  ]);
});

test("a statement ends before its 65th part or above the uses of a host, and the next one has the rest", async () => {
  for (const [options, ends] of [
    [{ change: (use: PlacedUse, index: number) => ({ ...use, ...servedBy(index) }) }, 64],
    [{ maxUses: 50 }, 50],
  ] as const) {
    const world = await makeWorld(options);
    for (let count = 0; count < 70; count++) await world.use(alice, 2);
    world.clock.now += terms.intervalMs;
    await world.statements.poll();
    assert.equal(toldBy(world, alice)?.afterNanoUsd, ends);
    const { open, settledNanoUsd } = billOf(world, alice);
    assert.deepEqual([open?.afterNanoUsd, settledNanoUsd], [ends, 70]);
    assert.deepEqual(world.alerts, []);
  }
});

test("uses that a statement lacks are alerted with their amount, and it is told all the same", async () => {
  const world = await makeWorld({ change: (use, index) => (index === 1 ? null : use) });
  for (const amount of [2, 40, 600]) await world.use(alice, amount);
  world.clock.now += terms.intervalMs;
  await world.statements.poll();
  assert.equal(toldBy(world, alice)?.afterNanoUsd, 321);
  assert.match(world.alerts.join(), /a statement of up to 321 lacks uses of 20 nano-dollars/);
});

test("a statement is told again each minute, so that a chain's partition that was emptied has it again", async () => {
  const world = await makeWorld();
  await world.use(alice, 2);
  world.clock.now += terms.intervalMs;
  await world.statements.poll();
  const told = toldBy(world, alice);
  assert.notEqual(told, null);
  const { watcher } = world.start();
  watcher.reread();
  world.happen({ type: "mine", blocks: 20, takes: true });
  while ((await watcher.poll()).outcome === "advanced");
  world.happen({ type: "mine", blocks: 20, takes: true });
  while ((await watcher.poll()).outcome === "advanced");
  assert.equal(toldBy(world, alice), null);
  world.clock.now += MINUTE;
  await world.statements.poll();
  assert.deepEqual(toldBy(world, alice), told);
});

test("an account whose statement fails delays no other account", async () => {
  const world = await makeWorld({
    change() {
      throw new Error("its rows cannot be read");
    },
  });
  for (const account of [alice, bob]) await world.use(account, 2);
  world.clock.now += terms.intervalMs;
  await world.statements.poll();
  assert.equal(toldBy(world, alice), null);
  assert.equal(toldBy(world, bob)?.afterNanoUsd, 1);
  assert.match(world.alerts.join(), /the statement of account:0x1+ could not be made/);
});

test("the open rest of an adopted statement after a foreign debit is told without uses, and the next ones follow", async () => {
  const world = await makeWorld();
  const { host, epochs, clock } = world;
  const owner = accountPartition(alice);
  const copy = host.copy(owner);
  await world.use(alice, 20);
  clock.now += terms.intervalMs;
  await world.statements.poll();
  // The use is lost, and the account hears of its statement with the next request, which is free.
  host.putBack(owner, copy);
  epochs.set(owner, 2);
  await world.use(alice, 1);
  assert.equal(billOf(world, alice).open?.afterNanoUsd, 10);
  world.happen({ type: "useKey", account: 0, amount: 6 });
  world.happen({ type: "mine", blocks: 20, takes: true });
  const { watcher } = world.start();
  while ((await watcher.poll()).outcome === "advanced");
  clock.now += terms.intervalMs;
  await world.statements.poll();
  const told = toldBy(world, alice);
  assert.deepEqual([told?.beforeNanoUsd, told?.afterNanoUsd], [6, 10]);
  assert.match(world.alerts.join(), /a statement of up to 10 lacks uses of 4 nano-dollars/);
});
