import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { grantCapacity } from "@inference/gateway/test/host";
import { hostFor } from "@inference/gateway/test/host-for";
import { billed, checkSums, providerRecords, sum } from "@inference/gateway/test/settlement/audit";
import { openChatStream, type ReadStream } from "@inference/gateway/test/settlement/chat-stream";
import { chatBody, makeTag, USD } from "@inference/gateway/test/settlement/pay";
import { accountPartition, identityPartition } from "@inference/ledger/partition";
import { isHold } from "@inference/ledger/tables";
import type { Address } from "@inference/protocol/credential";
import { eventually } from "@inference/protocol/testing/eventually";
import { startEdge } from "./testing/edge.ts";

/**
 * All objects of a kind out of service for some seconds, at every step of requests in flight: those requests get a 503
 * or their whole answer, and nothing else is different afterwards. Afterwards every account is served, no hold is left,
 * and every charge is the provider's bill.
 */
const isDeep = process.env.DEEP === "1";
const OUT_MS = isDeep ? 10_000 : 3_000;
const PAYERS = isDeep ? 6 : 3;
const STREAMS_EACH = 5;
/** Streams begin before the outage, and end during it and after it. */
const STREAMED_TOKENS = [2, 10, 30, 60, 110];
const DRIP_MS = OUT_MS / 100;

const edge = hostFor(() => startEdge({}, { ceilingNanoUsd: 1_000_000 * USD }));

/** A key of an account, or a session of a wallet. */
type Payer = { address: Address; key: string };
let wallets = 0;

async function openAccount(): Promise<Payer> {
  return edge.account(1_000 * USD);
}

async function openWallet(): Promise<Payer> {
  wallets += 1;
  const address: Address = `0x${(0xf000 + wallets).toString(16).padStart(40, "0")}`;
  await grantCapacity(edge, address, 1_000 * USD);
  return { address, key: await edge.openSession(address) };
}

type Asked = { status: number; text: string };

async function ask({ key }: Payer, tag: string): Promise<Asked> {
  const response = await edge.call("/v1/chat/completions", { key, body: chatBody("sim-small", "[[tokens=5]]")(tag) });
  return { status: response.status, text: await response.text() };
}

/** Asks again and again until it is told to stop. */
function keepAsking(payer: Payer, tag: string): () => Promise<Asked[]> {
  let isOver = false;
  async function loop(): Promise<Asked[]> {
    const asked: Asked[] = [];
    while (!isOver) {
      asked.push(await ask(payer, tag));
      await sleep(250);
    }
    return asked;
  }
  const asking = loop();
  return () => {
    isOver = true;
    return asking;
  };
}

async function openStreams(payer: Payer, tag: string): Promise<ReadStream[]> {
  const streams = await Promise.all(
    STREAMED_TOKENS.map((tokens) =>
      openChatStream(edge, payer, chatBody("sim-small", `[[tokens=${tokens}]][[drip=${DRIP_MS}]]`)(tag)),
    ),
  );
  for (const stream of streams) assert.ok(await stream.readUntil(() => stream.tokens() > 0));
  return streams;
}

async function assertNothingHeld(payers: readonly Payer[], isIdentity: boolean): Promise<void> {
  for (const { address } of payers) {
    const partition = isIdentity ? identityPartition(address) : accountPartition(address);
    const holds = await edge.rows("receipt", partition);
    assert.deepEqual(holds.filter(isHold), [], partition);
  }
}

const kinds = ["account:", "ceiling", ...(isDeep ? ["identity:", "chain"] : [])];
for (const kind of kinds) {
  test(`${OUT_MS / 1000} seconds without ${kind.replace(":", "")} objects cost the requests of that time a 503 at most`, async () => {
    const isIdentity = kind === "identity:";
    const payers = await Promise.all(Array.from({ length: PAYERS }, isIdentity ? openWallet : openAccount));
    const tags = payers.map(() => makeTag());
    const tagOf = (index: number): string => tags[index] ?? assert.fail();
    for (const [index, payer] of payers.entries()) assert.equal((await ask(payer, tagOf(index))).status, 200);
    const streams = (await Promise.all(payers.map((payer, index) => openStreams(payer, tagOf(index))))).flat();
    assert.equal(streams.length, PAYERS * STREAMS_EACH);
    const stops = payers.map((payer, index) => keepAsking(payer, tagOf(index)));
    // Those above may have allowances for a minute, and not need the ceiling.
    const newcomer = await (isIdentity ? openWallet() : openAccount());
    await sleep(300);

    await edge.set({ out: kind });
    const [first] = await Promise.all([ask(newcomer, makeTag()), sleep(OUT_MS)]);
    await edge.set({ out: "" });
    const backAt = performance.now();
    const asked = [first, ...(await Promise.all(stops.map((stop) => stop()))).flat()];
    const late = await Promise.all(payers.map((payer, index) => ask(payer, tagOf(index))));
    const waitedMs = performance.now() - backAt;

    for (const { status, text } of asked) {
      if (status === 200) continue;
      const { error } = JSON.parse(text) as { error: { code: string } };
      assert.deepEqual([status, error.code], [503, "ledger_unavailable"]);
    }
    const refused = asked.filter(({ status }) => status !== 200).length;
    // The newcomer has not heard the chain's totals yet. The others need the chain no more.
    if (kind === "chain") assert.deepEqual([refused, first.status], [1, 503]);
    else assert.ok(refused > 0, "nobody noticed");
    assert.deepEqual(new Set(late.map(({ status }) => status)), new Set([200]), "somebody is kept out");
    for (const stream of streams) {
      assert.ok((await stream.readAll()) && stream.text().endsWith("data: [DONE]\n\n"), stream.text().slice(-300));
    }
    await eventually(() => assertNothingHeld([...payers, newcomer], isIdentity));
    const heldMs = performance.now() - backAt;
    for (const [index, { address }] of payers.entries()) {
      const partition = isIdentity ? identityPartition(address) : accountPartition(address);
      const receipts = await edge.rows("receipt", partition);
      // The charge of an answer that was refused because it could not be written is a loss.
      const owed = receipts
        .map(({ chargeNanoUsd, lossNanoUsd }) => chargeNanoUsd + lossNanoUsd)
        .filter((amount) => amount > 0);
      const lost = receipts.filter(({ lossNanoUsd }) => lossNanoUsd > 0);
      const bills = providerRecords(edge, tagOf(index)).map(billed);
      assert.deepEqual([owed.length, sum(owed)], [bills.length, sum(bills)], "it is charged or lost as it was billed");
      assert.ok(lost.length <= refused && lost.every(({ state }) => state === "released"), "an answer was free");
    }
    await eventually(() => checkSums(edge));
    console.log(
      `${kind} ${asked.length} asked, ${refused} refused, served ${Math.round(waitedMs)} ms after, free after ${Math.round(heldMs)} ms`,
    );
  });
}
