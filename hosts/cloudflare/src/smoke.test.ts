import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accountPartition, ceilingPartition, journalPartition } from "@inference/ledger/partition";
import { eventually } from "@inference/protocol/testing/eventually";
import { utcDay } from "@inference/protocol/window";
import { contractsAnswer } from "@inference/protocol/wire/answers";
import { type Edge, startEdge } from "./testing/edge.ts";

let edge: Edge;

before(async () => {
  edge = await startEdge();
});

after(() => edge?.stop());

test("one request, end to end: its charge is its receipt is the balance's change, and reaches ceiling and journal", async () => {
  const address = "0x00000000000000000000000000000000000000aa";
  const account = accountPartition(address);
  const at = Date.now();
  const { key } = await edge.account(1_000_000_000, { address });
  const response = await edge.chat(key, { messages: [{ role: "user", content: "[[tokens=10]]" }] });
  const answer = (await response.json()) as { usage: { cost_nano_usd: number } };
  assert.equal(response.status, 200, JSON.stringify(answer));
  const charge = answer.usage.cost_nano_usd;
  assert.ok(charge > 0);

  const receipt = await edge.read(account, { type: "receipt", id: response.headers.get("x-request-id") ?? "" });
  assert.equal(receipt?.chargeNanoUsd, charge);
  const balance = await edge.read(account, { type: "balance", at: Date.now() });
  assert.partialDeepStrictEqual(balance, { settledNanoUsd: charge, heldNanoUsd: 0 });
  await eventually(async () => {
    const ceiling = await edge.read(ceilingPartition, { type: "ceiling", at: Date.now() });
    assert.partialDeepStrictEqual(ceiling, { settledNanoUsd: charge, heldNanoUsd: 0 });
    const journal = await edge.read(journalPartition(utcDay(at)), { type: "journal" });
    assert.deepEqual(journal, { settledNanoUsd: charge });
  });
});

test("the keys of an account that live are listed, the revoked ones not", async () => {
  const address = "0x00000000000000000000000000000000000000ac";
  const account = accountPartition(address);
  await edge.account(1_000_000_000, { address });
  const ids = async () => (await edge.read(account, { type: "keys", at: Date.now() })).map(({ key }) => key.id);
  const [keyId = assert.fail("it has none")] = await ids();
  await edge.put(account, { type: "revokeKey", at: Date.now(), keyId });
  assert.deepEqual(await ids(), []);
});

test("a stream is settled at what it used", async () => {
  const address = "0x00000000000000000000000000000000000000ab";
  const { key } = await edge.account(1_000_000_000, { address });
  const response = await edge.chat(key, {
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: "user", content: "[[tokens=10]]" }],
  });
  const text = await response.text();
  assert.match(text, /data: \[DONE\]\n\n$/);
  const charge = Number(/"cost_nano_usd":(\d+)/.exec(text)?.[1]);
  await eventually(async () => {
    const balance = await edge.read(accountPartition(address), { type: "balance", at: Date.now() });
    assert.partialDeepStrictEqual(balance, { settledNanoUsd: charge, heldNanoUsd: 0 });
  });
});

test("a wallet is told of the contracts, and a client that has the answer is told that it still holds", async () => {
  const url = `${edge.url}/api/v1/contracts`;
  const response = await fetch(url);
  assert.equal(response.status, 200);
  const { data } = contractsAnswer.parse(await response.json());
  assert.deepEqual([data.chains[0]?.role, Object.keys(data.abis).includes("tokenMinter")], ["primary", true]);
  const headers = { "if-none-match": response.headers.get("etag") ?? "" };
  const again = await fetch(url, { headers, cache: "no-store" });
  assert.deepEqual([again.status, await again.text()], [304, ""]);
});
