import { deepEqual, equal } from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { fundDollars } from "@inference/devnet/third-parties/local-chains";
import { eventually } from "@inference/protocol/testing/eventually";
import { createBudget } from "./budget.ts";
import { openDatabase } from "./database.ts";
import { connectKeeperChain } from "./keeper-chain.ts";
import type { KeeperChainSettings } from "./settings.ts";
import { findPulls } from "./standing-orders.ts";
import { deliverAll, heldBy, ordersOn, ownerOn, setOrder, startOrderSite, terms } from "./testing/order-site.ts";
import { alice, DOLLAR, deployer, fundLine, keeper, moveAway } from "./testing/three-chains.ts";

const HOUR_MS = 3_600_000;
let site: Awaited<ReturnType<typeof startOrderSite>>;
before(async () => {
  site = await startOrderSite();
});
beforeEach(() => site.stop());
after(async () => {
  await site.stop();
  await site.chains.revert();
});

test("one shortage is pulled once, whichever chains have orders, and while its message is on its way", async () => {
  const { primary, secondary1, secondary2 } = site.chains.sites;
  const owner = await ownerOn(secondary1, 20n);
  await ownerOn(secondary2, 20n, owner);
  await ownerOn(primary, 0n, owner);
  for (const on of [primary, secondary1, secondary2]) await setOrder(on, owner, { maxPerDay: 6n * DOLLAR });
  site.start();
  await eventually(async () => (await heldBy(secondary1, owner.address)) === 14n * DOLLAR);
  // Dollars come to the primary chain too. A restart forgets nothing, and neither does the next hour.
  await fundDollars(primary, { issuer: deployer, to: owner.address, dollars: 20n });
  await site.stop();
  site.pass(HOUR_MS);
  site.start();
  await site.passed(secondary1);
  await site.passed(secondary2);
  const dollars = [primary, secondary1, secondary2].map((on) => heldBy(on, owner.address));
  deepEqual(await Promise.all(dollars), [20n * DOLLAR, 14n * DOLLAR, 20n * DOLLAR]);

  // Delivered, it is credit: 6 dollars are above 5 and below 7.
  await fundLine(primary, secondary1.eid, 50n * DOLLAR);
  await deliverAll(primary, secondary1);
  await site.stop();
  site.start();
  await site.passed(primary);
  equal(await heldBy(primary, owner.address), 20n * DOLLAR);
  await site.stop();
  site.start({ below: 7n * DOLLAR });
  await eventually(async () => (await heldBy(primary, owner.address)) === 14n * DOLLAR);
});

test("an owner who spends the dollars in the pull's block costs the keeper one reverted transaction a day", async () => {
  const { primary } = site.chains.sites;
  const owner = await ownerOn(primary, 10n);
  await setOrder(primary, owner, { maxPerDay: 3n * DOLLAR });
  const { client } = primary;
  const sentBy = (blockTag: "latest" | "pending") => client.getTransactionCount({ address: keeper.address, blockTag });
  const before = await sentBy("latest");
  await client.setAutomine(false);
  site.start();
  await eventually(async () => (await sentBy("pending")) > before);
  await moveAway(primary, owner, 10n);
  await client.mine({ blocks: 1 });
  await client.setAutomine(true);
  await eventually(() => site.events.some(({ event, task }) => event === "reverted" && task === "pull"));
  await fundDollars(primary, { issuer: deployer, to: owner.address, dollars: 10n });
  await site.passed(primary);
  equal(await heldBy(primary, owner.address), 10n * DOLLAR);
  equal(await sentBy("latest"), before + 2, "the witness's pull is the second");
  site.pass(24 * HOUR_MS);
  await eventually(async () => (await heldBy(primary, owner.address)) === 7n * DOLLAR);
});

test("orders spend a budget of their own, and a message's fee counts", async () => {
  const { secondary1 } = site.chains.sites;
  const owner = await ownerOn(secondary1, 10n);
  await setOrder(secondary1, owner, { maxPerDay: 3n * DOLLAR });
  site.events.length = 0;
  site.start({ dailyBudgetWei: 1n });
  await eventually(() => site.events.some(({ event, task }) => event === "budget exhausted" && task === "pull"));
  equal(await heldBy(secondary1, owner.address), 10n * DOLLAR);
  await secondary1.sent(
    await secondary1.client.writeContract({ ...ordersOn(secondary1), account: owner, functionName: "end" }),
  );
});

test("a round pulls for ten owners at most, and an owner whose pull was not sent rests for ten minutes", async () => {
  const { primary } = site.chains.sites;
  const [settings] = site.chains.settings().chains as [KeeperChainSettings];
  const database = openDatabase(":memory:");
  let at = Date.now();
  const now = () => at;
  const chain = connectKeeperChain(settings, { account: alice, database, now, log: () => undefined });
  const budget = createBudget(database, { dailyBudgetWei: terms.dailyBudgetWei, now, table: "pull_spent" });
  const { find } = findPulls([chain], { ...terms, budget, now });
  for (let n = 0; n < 12; n++) {
    await setOrder(primary, await ownerOn(primary, 3n), { maxPerDay: 3n * DOLLAR, puller: alice.address });
  }
  const round = async (): Promise<number> => {
    await chain.events.poll();
    const { tasks } = await find();
    for (const { onTried } of tasks) onTried?.("not sent");
    return tasks.length;
  };
  const rounds = [await round(), await round(), await round()];
  at += HOUR_MS / 6;
  deepEqual([...rounds, await round()], [10, 2, 0, 10]);
  database.close();
});
