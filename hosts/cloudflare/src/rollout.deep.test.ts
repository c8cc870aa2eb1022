import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestAccount } from "@inference/gateway/test/fund";
import { hostFor } from "@inference/gateway/test/host-for";
import { billed, checkSums, providerRecords, settledOf, sum } from "@inference/gateway/test/settlement/audit";
import { openChatStream } from "@inference/gateway/test/settlement/chat-stream";
import { assertBilledExactly, chatBody, makeTag, pay, USD } from "@inference/gateway/test/settlement/pay";
import { accountPartition, ceilingPartition, type Partition } from "@inference/ledger/partition";
import { eventually } from "@inference/protocol/testing/eventually";
import { startEdge } from "./testing/edge.ts";
import { hold } from "./testing/hold.ts";
import { type Front, startRollout, type Versions } from "./testing/rollout.ts";

/**
 * Two versions over the same objects. The newer one says more in each command, question and reply, and keeps more in
 * each row: the older one reads past what it does not know, and leaves it where it is. So a field that may not be
 * ignored makes another command, and a column that may not be ignored another schema.
 */
const allPhases: [name: string, versions: Versions][] = [
  ["half rolled out", { former: "older", latter: "newer" }],
  ["rolled out", { former: "newer", latter: "newer" }],
  ["rolled back", { former: "older", latter: "older" }],
  ["half rolled back", { former: "newer", latter: "older" }],
];
const isDeep = process.env.DEEP === "1";
const phases = isDeep ? allPhases : allPhases.slice(-1);
let [, versions] = phases[0] ?? assert.fail();
let front: Front = "former";
const edge = hostFor(() =>
  startEdge(
    {},
    { start: (options) => startRollout(options, versions, () => front), ceilingNanoUsd: 1_000_000_000_000 },
  ),
);

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
      const terms = { id: `${makeTag()}open`, at: Date.now(), digest, amountNanoUsd: HELD, leaseMs: 600_000 };
      // Told twice, as by a caller that heard no reply.
      for (let times = 0; times < 2; times += 1) assert.equal(await hold(edge.put, account, terms), "reserved");
      return { id: terms.id, account };
    }),
  );
}

async function settle({ id, account }: Open): Promise<void> {
  const end = {
    type: "settle",
    id,
    at: Date.now(),
    chargeNanoUsd: CHARGE,
    lossNanoUsd: 0,
    detail: "{}",
    snapshot: "00",
  } as const;
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

const [ACCOUNTS, STREAMS_EACH] = isDeep ? [10, 20] : [3, 4];

test(`a deploy amid ${ACCOUNTS * STREAMS_EACH} streams loses none of them, and keeps nobody out`, async () => {
  front = "former";
  const tag = makeTag();
  const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => edge.account(1_000 * USD)));
  const body = chatBody("sim-small", "[[tokens=25]][[drip=200]]")(tag);
  const streams = await Promise.all(
    accounts.flatMap((account) => Array.from({ length: STREAMS_EACH }, () => openChatStream(edge, account, body))),
  );
  for (const stream of streams) assert.ok(await stream.readUntil(() => stream.tokens() > 0), stream.text());
  const read = Promise.all(streams.map((stream) => stream.readAll()));
  // From now on the other version's Worker gets the requests. This one still has its streams, and all objects end.
  front = "latter";
  const objects = [...accounts.map(({ address }) => accountPartition(address)), ceilingPartition];
  for (let times = 0; times < 3; times += 1) {
    await Promise.all(objects.map((partition) => assert.rejects(edge.object(partition, "evict"))));
    const answers = await Promise.all(
      accounts.map(({ key }) => edge.call("/v1/chat/completions", { key, body: chatBody("sim-small", "")(tag) })),
    );
    for (const answer of answers) assert.equal(answer.status, 200, await answer.text());
  }
  assert.deepEqual(new Set(await read), new Set([true]));
  for (const stream of streams) assert.ok(stream.text().endsWith("data: [DONE]\n\n"), stream.text().slice(-300));
  const settled = (await Promise.all(accounts.map(({ address }) => settledOf(edge, address)))).flat();
  const bills = providerRecords(edge, tag).map(billed);
  assert.equal(settled.length, ACCOUNTS * (STREAMS_EACH + 3));
  assert.equal(sum(settled.map(({ receipt }) => receipt.chargeNanoUsd)), sum(bills));
  for (const { id, account } of open) await settle({ id, account });
  open = [];
  await eventually(() => checkSums(edge));
  open = await leaveHolds();
});

test("the newer version's property of a row survives a write by the older version", async () => {
  front = "former";
  const [{ id, account } = assert.fail()] = open.filter(({ account }) => /[02468ace]$/.test(account));
  assert.equal(await edge.object(account, "versionOf", account, id), 2);
  versions = { former: "older", latter: "older" };
  await edge.restart();
  for (const hold of open) await settle(hold);
  versions = { former: "newer", latter: "newer" };
  await edge.restart();
  const holds = await edge.rows("receipt", account);
  assert.equal(holds.find((one) => one.id === id)?.state, "settled");
  assert.equal(await edge.object(account, "versionOf", account, id), 2);
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
