import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { after, test } from "node:test";
import type { Service } from "@inference/keeper/process";
import type { Offer } from "@inference/protocol/offer";
import { eventually } from "@inference/protocol/testing/eventually";
import { ComputerError } from "./computer-error.ts";
import { type GatewayClient, GatewayRefused, type OfferState } from "./gateway.ts";
import { startSelling } from "./seller.ts";

/** The loop alone, against a gateway's rules in memory. `test/devnet/src/agent.test.ts` has it against a real one. */
const settlement = { chainId: 31337, address: "0x00000000000000000000000000000000000000b2" } as const;
const agentToken = "0x00000000000000000000000000000000000000a1";
const DAY = 20_780;
const running: Service[] = [];
after(() => Promise.all(running.map((seller) => seller.stop().catch(() => {}))));

/** A gateway that takes offers with the next nonce and of its day. */
function makeGateway() {
  const state = { day: DAY, nonce: 1, offer: null as Offer | null, sold: 0, sent: [] as Offer[], failures: 0 };
  const fail = { read: undefined as Error | undefined, send: undefined as Error | undefined };
  const told = (): OfferState => ({
    agent_token: agentToken,
    offer:
      state.offer === null || state.offer.day !== state.day
        ? null
        : { hash: "0x", day: state.offer.day, share_bps: state.offer.shareBps, nonce: state.offer.nonce, since: "" },
    next_nonce: state.nonce,
    today: {
      date: new Date(state.day * 86_400_000).toISOString().slice(0, 10),
      capacity: 5,
      capacity_nano_usd: 5_000_000_000,
      ...{ limit: 5, limit_nano_usd: 5_000_000_000, sold: state.sold / 1e9, sold_nano_usd: state.sold },
      ...{ held: 0, held_nano_usd: 0, left: 0, left_nano_usd: 0, own_use: 0, own_use_nano_usd: 0 },
      resets_at: "",
    },
  });
  const client: GatewayClient = {
    primary: () => Promise.reject(),
    async read() {
      if (fail.read !== undefined) throw fail.read;
      return told();
    },
    async send(_, offer) {
      state.sent.push(offer);
      if (fail.send !== undefined) throw fail.send;
      if (offer.nonce < state.nonce || offer.day !== state.day) throw new GatewayRefused("a used nonce", 400);
      state.nonce = offer.nonce + 1;
      state.offer = offer.shareBps === 0 ? null : offer;
      return told();
    },
  };
  return { state, fail, client };
}

function sell(client: GatewayClient, explain = async () => {}) {
  const lines: string[] = [];
  const say = (line: string): void => void lines.push(line);
  const seller = startSelling({ gateway: client, settlement, agentToken, shareBps: 5_000, pollMs: 5, say, explain });
  running.push(seller);
  return { seller, lines };
}

test("it offers the day, shows what is sold when that changes, offers the next day, and withdraws at its end", async () => {
  const { state, client } = makeGateway();
  state.nonce = 4;
  const { seller, lines } = sell(client);
  await eventually(() => lines.length === 2);
  state.sold = 1_000_001;
  await eventually(() => lines.length === 3);
  Object.assign(state, { day: DAY + 1, sold: 0 });
  await eventually(() => lines.length === 5);
  await seller.stop();
  const date = (day: number) => new Date(day * 86_400_000).toISOString().slice(0, 10);
  deepEqual(lines, [
    `Offered 50 % of ${date(DAY)} (nonce 4).`,
    `${date(DAY)}: sold 0 of 5 dollars, held 0.`,
    `${date(DAY)}: sold 0.001000001 of 5 dollars, held 0.`,
    `Offered 50 % of ${date(DAY + 1)} (nonce 5).`,
    `${date(DAY + 1)}: sold 0 of 5 dollars, held 0.`,
    "Withdrew the offer.",
  ]);
  const terms = state.sent.map(({ day, shareBps, nonce }) => [day, shareBps, nonce]);
  deepEqual(terms, [
    [DAY, 5_000, 4],
    [DAY + 1, 5_000, 5],
    [DAY + 1, 0, 6],
  ]);
});

test("it goes on with its offer after a restart, and replaces one of another share", async () => {
  const { state, client } = makeGateway();
  state.offer = { agentToken, day: DAY, shareBps: 5_000, nonce: 1 };
  state.nonce = 2;
  const first = sell(client);
  await eventually(() => first.lines.length === 1);
  deepEqual(state.sent, []);
  state.offer = { agentToken, day: DAY, shareBps: 9_000, nonce: 1 };
  const second = sell(client);
  await eventually(() => second.lines.length === 2);
  equal(state.offer.shareBps, 5_000);
});

test("a gateway that does not answer is asked again, and told of once", async () => {
  const { state, fail, client } = makeGateway();
  fail.read = new Error("connect ECONNREFUSED");
  const { lines } = sell(client);
  await eventually(() => lines.length === 1);
  await new Promise((resolve) => setTimeout(resolve, 50));
  deepEqual(lines, ["connect ECONNREFUSED It is tried again."]);
  fail.read = undefined;
  await eventually(() => state.offer !== null);
});

test("a refusal for good ends it with the gateway's words, or with the registry's if that says why", async () => {
  const { state, fail, client } = makeGateway();
  fail.send = new GatewayRefused("The gateway answered 403: not your agent", 403);
  await rejects(sell(client).seller.ended, /not your agent/);
  equal(state.sent.length, 1, "what is refused for good is sent once");
  const replaced = () => Promise.reject(new ComputerError("The registry has no computer for it."));
  await rejects(sell(client, replaced).seller.ended, /registry has no computer/);
  const silent = () => Promise.reject(new Error("no node"));
  await rejects(sell(client, silent).seller.ended, /not your agent/);
});

test("two computers with one key do not raise each other's nonces for ever", async () => {
  const { state, client } = makeGateway();
  const { seller, lines } = sell(client);
  await eventually(() => lines.length === 2);
  state.offer = { agentToken, day: DAY, shareBps: 7_000, nonce: 8 };
  await rejects(seller.ended, /Another computer signs offers with this key \(nonce 8\)/);
});

test("an offer whose answer was lost is its own, and is withdrawn at the end", async () => {
  const { state, fail, client } = makeGateway();
  const { seller, lines } = sell(client);
  await eventually(() => lines.length === 2);
  // The gateway takes the next day's offer, and is gone before it answers.
  const { send } = client;
  client.send = async (...offer) => {
    client.send = send;
    await send(...offer);
    fail.read = new Error("gone");
    throw fail.read;
  };
  state.day += 1;
  await eventually(() => lines.length === 3);
  fail.read = undefined;
  await eventually(() => lines.length === 4);
  await seller.stop();
  equal(lines.at(-1), "Withdrew the offer.");
  equal(state.offer, null);
});

test("an offer that cannot be withdrawn is told, with when it ends", async () => {
  const { state, fail, client } = makeGateway();
  const { seller } = sell(client);
  await eventually(() => state.offer !== null);
  fail.send = new Error("gone");
  await rejects(seller.stop(), /not withdrawn and ends at 00:00 UTC: gone/);
  match(String(state.sent.length), /^4$/);
});
