import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { TestAccount } from "@inference/gateway/test/fund";
import { checkSums, providerRecords, settledOf } from "@inference/gateway/test/settlement/audit";
import { assertBilledExactly, chatBody, makeTag, pay, USD } from "@inference/gateway/test/settlement/pay";
import { accountPartition, ceilingPartition, type Partition } from "@inference/ledger/partition";
import { type Edge, startEdge } from "./testing/edge.ts";
import { type Front, startRollout, type Versions } from "./testing/rollout.ts";

/**
 * Two versions over the same objects. The newer one says more in each command, question and reply, and keeps more in
 * each row: the older one reads past what it does not know, and leaves it where it is. So a field that may not be
 * ignored makes another command, and a column that may not be ignored another schema.
 */
const phases: [name: string, versions: Versions][] = [
  ["half rolled out", { former: "older", latter: "newer" }],
  ["rolled out", { former: "newer", latter: "newer" }],
  ["rolled back", { former: "older", latter: "older" }],
  ["half rolled out, the other half", { former: "newer", latter: "older" }],
];
let [, versions] = phases[0] ?? assert.fail();
let front: Front = "former";
let edge: Edge;
before(async () => {
  edge = await startEdge(
    {},
    { start: (options) => startRollout(options, versions, () => front), ceilingNanoUsd: 1_000_000_000_000 },
  );
});
after(() => edge?.stop());

const HELD = 1_000;
const CHARGE = 700;
type Open = { id: string; account: Partition };
let open: Open[] = [];

/** A hold in an account of each namespace, and under the ceiling. */
async function leaveHolds(): Promise<Open[]> {
  return Promise.all(
    (["former", "latter"] as const).map(async () => {
      const account = accountPartition((await edge.account(USD)).address);
      const [{ digest = "" } = {}] = await edge.rows("key", account);
      const hold = { id: `${makeTag()}open`, at: Date.now(), amountNanoUsd: HELD, leaseMs: 600_000 };
      const payer = { kind: "key", digest } as const;
      const reserve = { type: "reserve", ...hold, payer, followers: [ceilingPartition], detail: "{}" } as const;
      // Told twice, as by a caller that heard no reply.
      for (let times = 0; times < 2; times += 1) {
        assert.equal((await edge.put(account, reserve)).status, "reserved");
        await edge.put(ceilingPartition, { type: "reserveCeiling", ...hold, owner: account });
      }
      return { id: hold.id, account };
    }),
  );
}

async function settle({ id, account }: Open): Promise<void> {
  const end = { type: "settle", id, at: Date.now(), chargeNanoUsd: CHARGE, lossNanoUsd: 0, detail: "{}" } as const;
  for (let times = 0; times < 2; times += 1) assert.equal((await edge.put(account, end)).status, "settled");
}

for (const [name, next] of phases) {
  test(`${name}: requests through both versions are charged exactly, and holds of the other one end`, async () => {
    if (next !== versions) {
      versions = next;
      await edge.restart();
    }
    const said = (await edge.put(ceilingPartition, { type: "acknowledge", id: "none" })) as { version?: number };
    assert.equal(said.version, versions.latter === "newer" ? 2 : undefined, "the ceiling is of another version");
    for (const { id, account } of open) {
      await settle({ id, account });
      const [settled] = await settledOf(edge, account.slice("account:".length) as TestAccount["address"]);
      assert.equal(settled?.receipt.chargeNanoUsd, CHARGE);
    }
    for (const through of ["former", "latter"] as const) {
      front = through;
      // An account in each namespace.
      for (let n = 0; n < 2; n += 1) {
        for (const stream of [true, false]) {
          const paid = await pay(edge, "/v1/chat/completions", chatBody("sim-small", "[[tokens=5]]", { stream }));
          assert.equal(paid.status, 200, paid.text);
          assertBilledExactly(paid);
        }
      }
    }
    await checkSums(edge);
    await assert.rejects(
      edge.put(ceilingPartition, { type: "greet" } as never),
      /ledger's door answered 500/,
      "a command that it does not know",
    );
    await checkSums(edge);
    open = await leaveHolds();
  });
}

test("what the newer version keeps in a row outlives the older one's writing it", async () => {
  front = "former";
  const [{ id, account } = assert.fail()] = open.filter(({ account }) => /[02468ace]$/.test(account));
  assert.equal(await edge.object(account, "versionOf", id), 2);
  versions = { former: "older", latter: "older" };
  await edge.restart();
  for (const hold of open) await settle(hold);
  versions = { former: "newer", latter: "newer" };
  await edge.restart();
  const holds = await edge.rows("hold", account);
  assert.equal(holds.find((hold) => hold.id === id)?.state, "settled");
  assert.equal(await edge.object(account, "versionOf", id), 2);
});

test("an object whose schema is another version's is refused whole, and nothing is forwarded", async () => {
  const account = await edge.account(USD);
  await assert.rejects(edge.object(accountPartition(account.address), "changeSchema"));
  const tag = makeTag();
  const response = await edge.call("/v1/chat/completions", { key: account.key, body: chatBody("sim-small", "")(tag) });
  const { error } = (await response.json()) as { error: { code: string } };
  assert.deepEqual([response.status, error.code], [503, "ledger_unavailable"]);
  assert.deepEqual(providerRecords(edge, tag), []);
});
