import { deepEqual, equal } from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "@inference/protocol/testing/eventually";
import { heldBy, ordersOn, ownerOn, setOrder, startOrderSite } from "./testing/order-site.ts";
import { alice, creditOf, DOLLAR, keeper } from "./testing/three-chains.ts";

let site: Awaited<ReturnType<typeof startOrderSite>>;
before(async () => {
  site = await startOrderSite();
});
after(async () => {
  await site.stop();
  await site.chains.revert();
});

test("an owner below the threshold is pulled up to the day's maximum; ended, foreign, small and empty orders cost nothing", async () => {
  const { primary } = site.chains.sites;
  const owner = await ownerOn(primary, 10n);
  await setOrder(primary, owner, { maxPerDay: 4n * DOLLAR });
  const ended = await ownerOn(primary, 10n);
  await setOrder(primary, ended, { maxPerDay: 4n * DOLLAR });
  await primary.sent(await primary.client.writeContract({ ...ordersOn(primary), account: ended, functionName: "end" }));
  const foreign = await ownerOn(primary, 10n);
  await setOrder(primary, foreign, { maxPerDay: 4n * DOLLAR, puller: alice.address });
  const small = await ownerOn(primary, 10n);
  await setOrder(primary, small, { maxPerDay: DOLLAR });
  const empty = await ownerOn(primary, 0n);
  await setOrder(primary, empty, { maxPerDay: 4n * DOLLAR });
  site.start();
  await eventually(async () => (await creditOf(primary, owner.address)) === 4_000n * DOLLAR);
  // The credit is still below the threshold. Only the day's maximum holds the next pull back.
  site.pass(3_600_000);
  await site.passed(primary);
  const dollars = [owner, ended, foreign, small, empty].map(({ address }) => heldBy(primary, address));
  deepEqual(await Promise.all(dollars), [6n * DOLLAR, 10n * DOLLAR, 10n * DOLLAR, 10n * DOLLAR, 0n]);
  equal(await primary.client.getTransactionCount({ address: keeper.address }), 2, "the owner's pull and the witness's");
  deepEqual(
    site.events.filter(({ event }) => event === "failed"),
    [],
  );
});
