import assert from "node:assert/strict";
import { test } from "node:test";
import { chat, lastRecord, start } from "./client.ts";
import type { RequestRecord } from "./record.ts";
import type { ProviderSimulator } from "./server.ts";

// sim-large: 1,000 prompt tokens at 2.5 and each completion token at 10 dollars a million.
const PROMPT = 2_500_000_000_000_000n;
const TOKEN = 10_000_000_000_000n;

async function leaveMidStream(provider: ProviderSimulator): Promise<RequestRecord> {
  const heard = await chat(
    provider,
    "sim-large",
    "[[prompt=1000]] [[tokens=200]] [[drip=5]]",
    { stream: true },
    { leaveAtBytes: 4000 },
  );
  assert.equal(heard.complete, false);
  return lastRecord(provider);
}

test("an abort in mid-stream is recorded with the tokens sent, and billed by the setting", async () => {
  const expected = {
    full: () => PROMPT + 200n * TOKEN,
    partial: (sent: number) => PROMPT + BigInt(sent) * TOKEN,
    none: () => 0n,
  };
  for (const abortBilling of ["full", "partial", "none"] as const) {
    await using provider = await start({ abortBilling });
    const { aborted, billedAtto, unitsSent } = await leaveMidStream(provider);
    assert.ok(aborted !== null && aborted.unitsSent > 0 && aborted.unitsSent < 200);
    assert.equal(aborted.unitsSent, unitsSent);
    assert.equal(billedAtto, expected[abortBilling](unitsSent));
  }
});

test("an abort before any byte costs the whole answer or nothing", async () => {
  const expected = { full: PROMPT + 20n * TOKEN, partial: 0n, none: 0n };
  for (const content of ["[[delay=5000]]", "[[fault=hang-before-headers]]"]) {
    for (const abortBilling of ["full", "partial", "none"] as const) {
      await using provider = await start({ abortBilling });
      const heard = await chat(
        provider,
        "sim-large",
        `[[prompt=1000]] ${content}`,
        {},
        { leaveWhen: () => provider.simulator.records.select(() => true, 1).length > 0 },
      );
      assert.equal(heard.status, 0);
      const { aborted, billedAtto } = await lastRecord(provider);
      assert.equal(aborted?.unitsSent, 0);
      assert.equal(billedAtto, expected[abortBilling]);
    }
  }
});

test("a stalled answer is ended and billed as an abort by the client that leaves it", async () => {
  await using provider = await start({ abortBilling: "partial" });
  const heard = await chat(
    provider,
    "sim-large",
    "[[prompt=1000]] [[tokens=10]] [[fault=stall]]",
    { stream: true },
    { leaveAtBytes: 1000 },
  );
  assert.equal(heard.complete, false);
  const { aborted, billedAtto } = await lastRecord(provider);
  assert.equal(aborted?.unitsSent, 5);
  assert.equal(billedAtto, PROMPT + 5n * TOKEN);
});

test("an answer that was heard to its end is no abort", async () => {
  await using provider = await start({ abortBilling: "none" });
  await chat(provider, "sim-large", "[[prompt=1000]]", { stream: true });
  const { aborted, billedAtto } = await lastRecord(provider);
  assert.equal(aborted, null);
  assert.equal(billedAtto, PROMPT + 20n * TOKEN);
});

test("an endless answer is billed for what went out, past the maximum", async () => {
  await using provider = await start();
  await chat(
    provider,
    "sim-large",
    "[[prompt=1000]] [[fault=endless-body]]",
    { stream: true, max_tokens: 5 },
    { leaveAtBytes: 50_000 },
  );
  const { aborted, billedAtto } = await lastRecord(provider);
  assert.ok(aborted !== null && aborted.unitsSent > 5);
  assert.equal(billedAtto, PROMPT + BigInt(aborted.unitsSent) * TOKEN);
});
