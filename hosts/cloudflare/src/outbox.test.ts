import assert from "node:assert/strict";
import { test } from "node:test";
import { hostFor } from "@inference/gateway/test/host-for";
import { outboxChange } from "@inference/ledger/delivery";
import { accountPartition } from "@inference/ledger/partition";
import { eventually } from "@inference/protocol/testing/eventually";
import { MOST_UNDELIVERED } from "./own-rows.ts";
import { startEdge } from "./testing/edge.ts";
import { hold } from "./testing/hold.ts";

const AMOUNT = 1_000;

const edge = hostFor(() => startEdge());

/** Holds in the account, or asks again. */
function reserve(account: string, digest: string, id: string, at = Date.now()): Promise<string> {
  return hold(edge.put, account, { id, digest, at, amountNanoUsd: AMOUNT });
}

function settleOf(id: string, chargeNanoUsd: number) {
  return { type: "settle", id, at: Date.now(), chargeNanoUsd, lossNanoUsd: 0, detail: "{}", snapshot: "00" } as const;
}

/** A delivery that changes nothing where it arrives. */
function deliveryTo(target: string, index: number) {
  return outboxChange({ id: `left${index}>${target}`, target, command: { type: "acknowledge", id: "none" } });
}

test("an account that has too much to deliver admits nothing new, ends what is under way, and goes on once some is delivered", async () => {
  const address = "0x00000000000000000000000000000000000000da";
  const account = accountPartition(address);
  const other = accountPartition("0x00000000000000000000000000000000000000dc");
  const { key, digest } = await edge.account(1_000_000_000, { address });
  const balance = () => edge.read(account, { type: "balance", at: Date.now() });
  const left = async () => ((await edge.object(account, "rows", account, "outbox")) as unknown[]).length;
  const say = (text: string) => ({ messages: [{ role: "user", content: text }] });
  await edge.object(other, "outOfService", true);
  const at = Date.now();
  assert.equal(await reserve(account, digest, "req_held", at), "reserved");
  const fill = Array.from({ length: MOST_UNDELIVERED - 1 }, (_, index) => deliveryTo(other, index));
  await edge.object(account, "write", account, fill);

  const stream = await edge.chat(key, { stream: true, ...say("[[tokens=20]][[drip=250]]") });
  assert.equal(stream.status, 200);
  const last = await edge.chat(key, say("[[tokens=5]]"));
  assert.equal(last.status, 200, await last.text());
  await edge.object(account, "write", account, [deliveryTo(other, fill.length)]);
  const { heldNanoUsd, settledNanoUsd } = await balance();
  assert.ok(heldNanoUsd > AMOUNT, "the stream is under way");

  const refuse = async () => {
    const refused = await edge.chat(key, say("[[tokens=5]]"));
    const { error } = (await refused.json()) as { error: { code: string } };
    assert.deepEqual([refused.status, error.code], [503, "ledger_unavailable"]);
    assert.equal(refused.headers.get("retry-after"), "2");
    assert.match(edge.output(), /"event":"ledger_unavailable",.*deliveries are left/);
    await assert.rejects(reserve(account, digest, "req_new"), /ledger's door answered 500/);
  };
  await refuse();
  await refuse();
  const alerts = edge.output().match(/"level":"alert","event":"ledger",.*deliveries are left/g);
  assert.equal(alerts?.length, 1);
  const now = await balance();
  assert.deepEqual([now.heldNanoUsd, now.settledNanoUsd], [heldNanoUsd, settledNanoUsd]);
  assert.equal(await reserve(account, digest, "req_held", at), "reserved", "it is there, and only asked for again");

  assert.match(await stream.text(), /data: \[DONE\]\n\n$/);
  assert.equal((await edge.put(account, settleOf("req_held", 700))).status, "settled");
  await eventually(async () => assert.equal((await balance()).heldNanoUsd, 0));
  // The object ends before it can answer. The next one has all deliveries to make.
  await assert.rejects(edge.object(account, "loseAlarm"), /ledger's door answered 500/);
  await refuse();
  await eventually(async () => assert.ok((await left()) > fill.length));

  await edge.object(other, "outOfService", false);
  await eventually(async () => assert.equal(await left(), 0));
  const again = await edge.chat(key, say("[[tokens=5]]"));
  assert.equal(again.status, 200, await again.text());
});

test("a delivery that is acknowledged after an alarm's last commit is written down by another alarm", async () => {
  const address = "0x00000000000000000000000000000000000000db";
  const account = accountPartition(address);
  const { digest } = await edge.account(1_000_000_000, { address });
  await reserve(account, digest, "req_late");
  await edge.object(account, "acknowledgeLate");
  // A charge would have its alarm ring at once.
  const end = { type: "release", id: "req_late", at: Date.now(), lossNanoUsd: 0, detail: "{}" } as const;
  assert.equal((await edge.put(account, end)).status, "released");
  const left = async () => ((await edge.object(account, "storedRows", account, "outbox")) as unknown[]).length;
  assert.equal(await left(), 1);
  await eventually(async () => assert.equal(await left(), 0));
});
