import assert from "node:assert/strict";
import { test } from "node:test";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { BridgeMessage, DollarView, SecondaryBooks } from "@inference/protocol/dollars";
import { creditsAnswer, statusAnswer } from "@inference/protocol/wire/answers";
import { activationsAnswer } from "@inference/protocol/wire/dollars";
import { makeWallet, NOW, openFixture, PRIMARY, SECONDARY } from "../../test/identity-fixture.ts";
import type { KnownChain } from "../chain-directory.ts";

/** GET /api/v1/activations/{address}, and the secondary chains in GET /api/v1/status. */
const ALICE = "0x00000000000000000000000000000000000000f1";
const HOUR = 3_600_000;
const DOLLAR = 1_000_000n;
const known = (chainId: number, role: KnownChain["role"]): KnownChain => ({
  ...{ chainId, role, name: null, eid: chainId, rpcUrl: null, stablecoin: null, startBlock: 0 },
  contracts: {},
});
const chains = [known(PRIMARY, "primary"), known(SECONDARY, "secondary")];
const books: SecondaryBooks = {
  ...{ chainId: SECONDARY, block: 7, at: NOW, supplyToken: 0n, lineToken: 12n * DOLLAR, giftedToken: 0n },
  ...{ outboxToken: 40n * DOLLAR, outboxSince: NOW - HOUR, nextFlushAt: NOW - HOUR, flushedToken: 12n * DOLLAR },
  ...{ bookedToken: 12n * DOLLAR, inFlightToken: 30n * DOLLAR, waitingToken: 0n, oldestMessageAt: NOW, addsUp: true },
};
const message: BridgeMessage = {
  ...{
    guid: "0x01",
    kind: "activation",
    sourceChainId: SECONDARY,
    destinationChainId: PRIMARY,
    from: ALICE,
    to: ALICE,
  },
  ...{ amountToken: 30n * DOLLAR, stage: "burned", transaction: "0x02", at: NOW - 60_000, delivery: null },
};

function open(view: DollarView | null) {
  const fixture = openFixture({ chains });
  Object.assign(fixture.gateway.environment, { dollars: () => view });
  const read = async () => {
    const { status, text } = await fixture.call("GET", `/api/v1/activations/${ALICE}`);
    assert.equal(status, 200, text);
    return activationsAnswer.parse(JSON.parse(text)).data;
  };
  return { fixture, read };
}
const viewOf = (...messages: BridgeMessage[]): DollarView => ({ at: NOW, chains: [books], messages });

test("an activation says how far it is, what it waits for and when it is due at the latest", async () => {
  const own = await open(viewOf(message)).read();
  const [burned] = own.activations;
  assert.deepEqual([burned?.stage, burned?.amount, burned?.guid], ["burned", 30, "0x01"]);
  assert.equal(burned?.waits_for, "The burn's block is not final yet.");
  // The line does not cover it, so it waits for the outbox, which sends within a day, and for the dollars' way.
  assert.equal(Date.parse(burned?.due_at ?? ""), NOW - HOUR + 24 * HOUR + 24 * HOUR + HOUR + HOUR / 2);

  const small = { ...message, amountToken: 10n * DOLLAR };
  const [covered] = (await open(viewOf(small)).read()).activations;
  assert.equal(Date.parse(covered?.due_at ?? ""), small.at + 2 * HOUR, "the line covers it");

  const [waiting] = (await open(viewOf({ ...message, stage: "waiting" })).read()).activations;
  assert.equal(
    waiting?.waits_for,
    `The dollars of chain ${SECONDARY} on the primary chain are $12, and it needs $30. ` +
      "$0 are being carried there, $40 wait in the outbox.",
  );
});

test("a delivered activation is credited once its block is in the books, and is in no list twice", async () => {
  const delivery = { block: 50, transaction: "0xaa", at: NOW };
  const { fixture, read } = open(viewOf({ ...message, stage: "delivered", delivery }));
  fixture.chain.pendingActivations = () => [
    { amountNanoUsd: 30_000_000_000, block: 50, transaction: "0xaa" },
    { amountNanoUsd: 1_000_000_000, block: 51, transaction: "0xbb" },
  ];
  fixture.chain.following = () => ({ state: "following", block: 49, lagBlocks: 0 });
  const stages = async () => (await read()).activations.map(({ stage, block, guid }) => [stage, block, guid]);
  assert.deepEqual(await stages(), [
    ["delivered", 50, "0x01"],
    ["delivered", 51, null],
  ]);
  fixture.chain.pendingActivations = () => [];
  fixture.chain.following = () => ({ state: "following", block: 50, lagBlocks: 0 });
  assert.deepEqual(await stages(), [["credited", 50, "0x01"]]);
});

test("the balance's answer lists an activation from afar as on its way until it is credited", async () => {
  const delivery = { block: 50, transaction: "0xaa", at: NOW };
  const wallet = makeWallet();
  const own = { ...message, to: wallet.address.toLowerCase() as typeof message.to, delivery };
  const { fixture } = open(viewOf({ ...own, stage: "delivered" }));
  const { key } = await fixture.makeKey(wallet);
  const stagesAt = async (block: number) => {
    fixture.chain.following = () => ({ state: "following", block, lagBlocks: 0 });
    const { text } = await fixture.call("GET", "/api/v1/credits", { bearer: key });
    return creditsAnswer.parse(JSON.parse(text)).data.on_their_way?.map(({ stage }) => stage);
  };
  assert.deepEqual([await stagesAt(49), await stagesAt(50)], [["delivered"], []]);
});

test("transfers, and activations of others, are not listed", async () => {
  const other = { ...message, to: "0x00000000000000000000000000000000000000f2" } as const;
  const { activations } = await open(viewOf({ ...message, kind: "transfer" }, other)).read();
  assert.deepEqual(activations, []);
});

test("a chain that is not read is named, and no sum of all books is claimed", async () => {
  for (const view of [null, { ...viewOf(), chains: [] }]) {
    const { fixture, read } = open(view);
    assert.deepEqual((await read()).unknown_chain_ids, [SECONDARY]);
    fixture.chain.books = async () => ({
      ...{ block: 1, at: NOW, backingNanoUsd: 5n, supplyNanoUsd: 5n, creditNanoUsd: 0n, owedNanoUsd: 0n },
      linesNanoUsd: 0n,
    });
    const told = statusAnswer.parse(JSON.parse((await fixture.call("GET", "/api/v1/status")).text)).data.books;
    assert.deepEqual([told?.adds_up, told?.chains[0]?.known, told?.chains[0]?.supply], [null, false, null]);
  }
});

test("what is no address is 400, and a chain that cannot be read 503", async () => {
  const { fixture } = open(null);
  assert.equal((await fixture.call("GET", "/api/v1/activations/alice")).body.error?.code, "invalid_request");
  fixture.chain.pendingActivations = () => {
    throw new ChainUnavailable("no node");
  };
  const refused = await fixture.call("GET", `/api/v1/activations/${ALICE}`);
  assert.deepEqual([refused.status, refused.body.error?.code], [503, "chain_unavailable"]);
});
