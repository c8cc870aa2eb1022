import { deepEqual, equal, rejects } from "node:assert/strict";
import { after, test } from "node:test";
import type { Service } from "@inference/keeper/process";
import { eventually } from "@inference/protocol/testing/eventually";
import { DAY_MS, utcDay } from "@inference/protocol/window";
import { connect } from "@inference/sdk/connection";
import { privateKeyToAccount } from "viem/accounts";
import { startSelling } from "./seller.ts";

/** The loop and the library, against a gateway's rules in memory. The devnet's agents sell at a real one. */
const agentToken = "0x00000000000000000000000000000000000000a1";
const computer = privateKeyToAccount(`0x${"a5".repeat(32)}`);
const DAY = 20_780;
const running: Service[] = [];
after(() => Promise.all(running.map((seller) => seller.stop().catch(() => {}))));

type Sent = { day: number; share_bps: number; nonce: number };
type Answer = (offer: Sent) => Response | undefined;

/** A gateway that takes offers with the next nonce and of its day, unless `answer` says something else. */
function makeGateway() {
  const state = {
    day: DAY,
    nonce: 1,
    offer: null as Sent | null,
    sold: 0,
    sent: [] as Sent[],
    isGone: false,
    asked: 0,
  };
  const told = () => ({
    offer: state.offer?.day === state.day ? state.offer : null,
    next_nonce: state.nonce,
    today: {
      date: utcDay(state.day * DAY_MS),
      sold_nano_usd: state.sold,
      held_nano_usd: 0,
      limit_nano_usd: 5_000_000_000,
    },
  });
  const answers: Answer[] = [];
  const take = (offer: Sent): Response => {
    state.sent.push(offer);
    const answer = answers.shift()?.(offer);
    if (answer !== undefined) return answer;
    if (offer.nonce < state.nonce || offer.day !== state.day) return refusal(400, { message: "a used nonce" });
    state.nonce = offer.nonce + 1;
    state.offer = offer.share_bps === 0 ? null : offer;
    return Response.json({ data: told() });
  };
  const contracts = { inferenceSettlement: "0x00000000000000000000000000000000000000b2" };
  const chains = [{ chain_id: 31_337, role: "primary", contracts }];
  const answerTo = (url: string, body: unknown): Response => {
    if (url.endsWith("/contracts")) return Response.json({ data: { chains } });
    return body === undefined ? Response.json({ data: told() }) : take(JSON.parse(String(body)) as Sent);
  };
  const connection = connect({
    gateway: "http://gateway.test",
    fetch: async (url, init) => {
      state.asked += 1;
      const answer = answerTo(String(url), init?.body);
      if (state.isGone) throw new Error("gone");
      return answer;
    },
  });
  const sell = () => {
    const lines: string[] = [];
    const say = (line: string): void => void lines.push(line);
    const seller = startSelling({ connection, computer, agentToken, shareBps: 5_000, pollMs: 5, say });
    running.push(seller);
    return { seller, lines };
  };
  return { state, answers, sell };
}

function refusal(status: number, error: { message: string; param?: string }): Response {
  return Response.json({ error: { code: "refused", param: null, ...error } }, { status });
}

test("it offers the day, shows what is sold when that changes, offers the next day, and withdraws at its end", async () => {
  const { state, sell } = makeGateway();
  state.nonce = 4;
  const { seller, lines } = sell();
  await eventually(() => lines.length === 2);
  state.sold = 1_000_001;
  await eventually(() => lines.length === 3);
  Object.assign(state, { day: DAY + 1, sold: 0 });
  await eventually(() => lines.length === 5);
  await seller.stop();
  deepEqual(lines, [
    `Offered 50 % of ${utcDay(DAY * DAY_MS)}.`,
    `${utcDay(DAY * DAY_MS)}: sold 0 of 5 dollars, held 0.`,
    `${utcDay(DAY * DAY_MS)}: sold 0.001000001 of 5 dollars, held 0.`,
    `Offered 50 % of ${utcDay((DAY + 1) * DAY_MS)}.`,
    `${utcDay((DAY + 1) * DAY_MS)}: sold 0 of 5 dollars, held 0.`,
    "Withdrew the offer.",
  ]);
  const terms = state.sent.map(({ day, share_bps, nonce }) => [day, share_bps, nonce]);
  deepEqual(terms, [
    [DAY, 5_000, 4],
    [DAY + 1, 5_000, 5],
    [DAY + 1, 0, 6],
  ]);
});

test("it goes on with its offer after a restart, and replaces one of another share", async () => {
  const { state, sell } = makeGateway();
  state.offer = { day: DAY, share_bps: 5_000, nonce: 1 };
  state.nonce = 2;
  const { lines } = sell();
  await eventually(() => lines.length === 1);
  deepEqual(state.sent, []);
  state.offer = { day: DAY, share_bps: 9_000, nonce: 2 };
  state.nonce = 3;
  await eventually(() => lines.length === 2);
  deepEqual([state.offer.share_bps, state.offer.nonce], [5_000, 3]);
});

test("a gateway that does not answer is asked again, and told of once", async () => {
  const { state, sell } = makeGateway();
  state.isGone = true;
  const { lines } = sell();
  await eventually(() => lines.length === 1);
  await eventually(() => state.asked > 2);
  deepEqual(lines, ["http://gateway.test does not answer. Check the gateway's URL. It is tried again."]);
  state.isGone = false;
  await eventually(() => state.offer !== null);
});

test("a refusal for good ends it with the gateway's words, and others are tried again", async () => {
  for (const [status, param] of [[503], [429], [400, "day"], [400, "nonce"]] as const) {
    const { state, answers, sell } = makeGateway();
    answers.push(() => refusal(status, { message: "not now", ...(param === undefined ? {} : { param }) }));
    sell();
    await eventually(() => state.offer !== null);
  }
  const { state, answers, sell } = makeGateway();
  answers.push(() => refusal(401, { message: "The agent's computer has not signed this offer." }));
  await rejects(sell().seller.ended, /^RefusedError: The agent's computer has not signed this offer\.$/);
  equal(state.sent.length, 1, "what is refused for good is sent once");
});

test("an offer whose answer was lost is sent again, and is withdrawn at the end", async () => {
  const { state, answers, sell } = makeGateway();
  answers.push(() => {
    state.isGone = true;
    return undefined;
  });
  const { seller, lines } = sell();
  await eventually(() => lines.length === 1);
  state.isGone = false;
  await eventually(() => lines.length === 3);
  await seller.stop();
  const shares = state.sent.map(({ share_bps }) => share_bps);
  deepEqual([shares, lines.at(-1), state.offer], [[5_000, 5_000, 0], "Withdrew the offer.", null]);
});

test("an offer that arrives after the end is refused: the withdrawal has taken its nonce", async () => {
  const { state, answers, sell } = makeGateway();
  answers.push(() => {
    throw new Error("late");
  });
  const { seller, lines } = sell();
  await eventually(() => lines.length === 1);
  await seller.stop();
  const [late, withdrawal] = state.sent;
  deepEqual([late?.share_bps, withdrawal?.share_bps, withdrawal?.nonce], [5_000, 0, late?.nonce]);
});

test("an offer that cannot be withdrawn is told, with when it ends", async () => {
  const { state, answers, sell } = makeGateway();
  const { seller } = sell();
  await eventually(() => state.offer !== null);
  answers.push(...Array.from({ length: 3 }, () => () => refusal(503, { message: "gone" })));
  await rejects(seller.stop(), /may stay until 00:00 UTC: gone/);
  equal(state.sent.length, 4);
});
