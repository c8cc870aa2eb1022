import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { ownedWalletCode } from "@inference/chain/testing/owned-wallet";
import { accountPartition, agentPartition, ceilingPartition, identityPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { type Address, lowerAddress } from "@inference/protocol/credential";
import { formatSiweMessage } from "@inference/protocol/siwe";
import { eventually } from "@inference/protocol/testing/eventually";
import { DAY_MS, utcDay, windowStart } from "@inference/protocol/window";
import { ownKeyAnswer } from "@inference/protocol/wire/key-answers";
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { type PoolChain, signForSafe, startPoolChain } from "./testing/pool-chain.ts";
import { type Stack, startStack } from "./testing/stack.ts";

/**
 * Sessions that spend, over HTTP, in front of a real pool, agents and Safes on a chain. On Node alone: it turns the
 * clock of the chain with the gateway's, and makes its node fail.
 */
const USD = 1_000_000_000;
const MINUTE = 60_000;
const CHAT = "/v1/chat/completions";
/** A prompt of 100 tokens and 100 of answer: 75,000 nano-dollars exactly. */
const chat = {
  model: "sim-small",
  messages: [{ role: "user", content: "[[prompt=100]] [[tokens=100]]" }],
  max_tokens: 100,
};
const CHARGE = 75_000;

let chain: PoolChain;
let stack: Stack;
/** The gateway's time. */
let now = windowStart("day", Date.now()) + DAY_MS + DAY_MS / 2;
before(async () => {
  chain = await startPoolChain();
  stack = await startStack({ chain: chain.chain, now: () => now });
});
after(async () => {
  await stack?.stop();
  await chain?.[Symbol.asyncDispose]();
});

/** Both clocks, the gateway's and the chain's. */
async function goTo(atMs: number): Promise<void> {
  now = atMs;
  await chain.mineAt(atMs);
  await stack.gateway.prices.refresh();
}
const noonTomorrow = () => windowStart("day", now) + DAY_MS + DAY_MS / 2;

function makeWallet(): PrivateKeyAccount {
  return privateKeyToAccount(generatePrivateKey());
}

function messageOf(address: Address): string {
  return formatSiweMessage({
    domain: "gateway.test",
    address,
    uri: "http://gateway.test",
    version: "1",
    chainId: 31_337,
    nonce: randomBytes(8).toString("hex"),
    issuedAt: now,
    resources: [],
  });
}

type Signer = Pick<PrivateKeyAccount, "address" | "signMessage">;

async function signIn(wallet: Signer, agentToken?: Address): Promise<string> {
  const message = messageOf(wallet.address);
  const body = { message, signature: await wallet.signMessage({ message }), agentToken };
  const answer = await stack.call("/auth", { body });
  assert.equal(answer.status, 200, await answer.clone().text());
  return ((await answer.json()) as { token: string }).token;
}

/** How a sign-in for an agent ends. */
async function trySignIn(wallet: Signer, agentToken: Address): Promise<{ status: number; code?: string }> {
  const message = messageOf(wallet.address);
  const signature = await wallet.signMessage({ message });
  const answer = await stack.call("/auth", { body: { message, signature, agentToken } });
  const { error } = (await answer.json()) as { error?: { code: string } };
  return { status: answer.status, ...(error === undefined ? {} : { code: error.code }) };
}

/** A request under a name that is always the same. */
function askNamed(session: string, body: object): Promise<Response> {
  return fetch(`${stack.url}${CHAT}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${session}`, "idempotency-key": "same" },
    body: JSON.stringify(body),
  });
}

type Said = { status: number; code?: string; metadata?: Record<string, unknown>; headers: Headers };

async function ask(key: string, body: object = chat, path = CHAT): Promise<Said> {
  const answer = await stack.call(path, { key, body });
  const text = await answer.text();
  const { error } = (text.startsWith("{") ? JSON.parse(text) : {}) as { error?: { code: string; metadata?: object } };
  return {
    status: answer.status,
    headers: answer.headers,
    ...(error === undefined ? {} : { code: error.code, metadata: error.metadata as Record<string, unknown> }),
  };
}

async function capacityOf(
  identity: Address,
  kind: "wallet" | "agent" = "wallet",
): Promise<{ limit: number | null; settled: number; held: number }> {
  const partition = kind === "wallet" ? identityPartition(identity) : agentPartition(identity);
  const view = await stack.ledger.read(partition, { type: "capacity", at: now });
  return { limit: view.limitNanoUsd, settled: view.settledNanoUsd, held: view.heldNanoUsd };
}

const readsOf = (to: Address): number => chain.asked.filter((call) => call.to === lowerAddress(to)).length;
const record = async (name: string): Promise<Record<string, unknown> | null> =>
  JSON.parse((await stack.gateway.environment.keyValue.get(name)) ?? "null") as Record<string, unknown> | null;

describe("a personal session", () => {
  test("spends its wallet's capacity of the day, to the nano-dollar, under both prefixes, and nothing else", async () => {
    const wallet = makeWallet();
    await goTo(noonTomorrow());
    await chain.stake(wallet.address, 1);
    const session = await signIn(wallet);
    const { status, code, metadata } = await ask(session);
    assert.deepEqual([status, code], [402, "capacity_exhausted"], "a stake counts from the next day");
    assert.equal(metadata?.resets_at, new Date(windowStart("day", now) + DAY_MS).toISOString());

    await goTo(noonTomorrow());
    const tomorrow = await signIn(wallet);
    for (const path of [CHAT, "/api/v1/chat/completions"]) assert.equal((await ask(tomorrow, chat, path)).status, 200);
    assert.deepEqual(await capacityOf(wallet.address), { limit: USD, settled: 2 * CHARGE, held: 0 });
    const receipts = await stack.rows("receipt", identityPartition(wallet.address));
    assert.deepEqual(
      receipts.map(({ state, chargeNanoUsd, keyId }) => [state, chargeNanoUsd, keyId]),
      [
        ["settled", CHARGE, null],
        ["settled", CHARGE, null],
      ],
    );
    // The wallet's account and the ceiling have no trace of it.
    const atCeiling = await stack.rows("allowance", ceilingPartition);
    assert.deepEqual(
      atCeiling.filter(({ id }) => id.endsWith(wallet.address.toLowerCase())),
      [],
    );
    assert.deepEqual(await stack.rows("use", accountPartition(wallet.address)), []);
    assert.deepEqual((await stack.balance(wallet.address)).settledNanoUsd, 0);
  });

  test("has its record under the wallet's address, with the capacity and what it was synced to", async () => {
    const wallet = makeWallet();
    await chain.stake(wallet.address, 3);
    await goTo(noonTomorrow());
    assert.equal((await ask(await signIn(wallet))).status, 200);
    assert.deepEqual(await record(`vkey:${lowerAddress(wallet.address)}`), {
      upstreamKey: "master",
      capacityNanoUsd: 3 * USD,
      day: utcDay(now),
      readAt: now,
    });
  });

  test("is admitted to the last nano-dollar of concurrent requests, and not beyond", async () => {
    const wallet = makeWallet();
    const session = await signIn(wallet);
    await chain.stake(wallet.address, 1);
    await goTo(noonTomorrow());
    const again = await signIn(wallet);
    assert.equal((await ask(again)).status, 200);
    // Each holds 0.30 dollars for its answer alone: three fit beside what is settled.
    const messages = [{ role: "user", content: "[[delay=300]] [[tokens=1]]" }];
    const dear = { model: "sim-large", max_tokens: 30_000, messages };
    const said = await Promise.all(Array.from({ length: 6 }, () => ask(again, dear)));
    assert.deepEqual(said.map(({ status, code }) => code ?? status).sort(), [
      200,
      200,
      200,
      ...Array(3).fill("budget_reserved"),
    ]);
    const { limit, settled, held } = await capacityOf(wallet.address);
    assert.ok(held === 0 && settled <= (limit ?? 0));
    assert.equal((await ask(session)).code, "session_expired");
  });

  test("pays for a stream what it used, and for a named request once", async () => {
    const wallet = makeWallet();
    await chain.stake(wallet.address, 1);
    await goTo(noonTomorrow());
    const session = await signIn(wallet);
    const stream = await stack.call(CHAT, { key: session, body: { ...chat, stream: true } });
    assert.match(await stream.text(), /data: \[DONE\]/);
    await eventually(async () => (await capacityOf(wallet.address)).settled === CHARGE);
    const headers = {
      "content-type": "application/json",
      authorization: `Bearer ${session}`,
      "idempotency-key": "once",
    };
    const post = () => fetch(`${stack.url}${CHAT}`, { method: "POST", headers, body: JSON.stringify(chat) });
    const first = await post();
    chain.fail("refusing");
    now += 11 * MINUTE;
    const again = await post();
    chain.fail(null);
    assert.equal(again.headers.get("idempotent-replayed"), "true");
    assert.equal(await again.text(), await first.text());
    assert.deepEqual(await capacityOf(wallet.address), { limit: USD, settled: 2 * CHARGE, held: 0 });
  });

  test("is told its capacity of the day, the held, used and remaining amounts, and when it resets", async () => {
    const wallet = makeWallet();
    await chain.stake(wallet.address, 3);
    await goTo(noonTomorrow());
    const session = await signIn(wallet);
    const told = async () => {
      const answer = await stack.call("/api/v1/key", { key: session });
      assert.equal(answer.status, 200, await answer.clone().text());
      return ownKeyAnswer.parse(await answer.json()).data;
    };
    const fresh = await told();
    const { limit, limit_remaining_nano_usd: left, limit_reset, usage_nano_usd: used, resets_at } = fresh;
    assert.deepEqual([limit, left, limit_reset, used], [3, 3 * USD, "daily", 0], "before anything was asked for");
    assert.equal(resets_at, new Date(windowStart("day", now) + DAY_MS).toISOString());
    assert.equal("address" in fresh ? fresh.address : "", lowerAddress(wallet.address));
    assert.equal((await ask(session)).status, 200);
    const slow = ask(session, { ...chat, messages: [{ role: "user", content: "[[delay=400]] [[tokens=1]]" }] });
    await eventually(async () => (await told()).reserved_nano_usd > 0);
    const { usage_nano_usd, reserved_nano_usd, limit_remaining_nano_usd, budgets, binds_first } = await told();
    assert.deepEqual([usage_nano_usd, binds_first], [CHARGE, "capacity"]);
    assert.equal(limit_remaining_nano_usd, 3 * USD - CHARGE - reserved_nano_usd);
    assert.deepEqual(
      budgets.map(({ name, window, remaining_nano_usd }) => [name, window, remaining_nano_usd]),
      [["capacity", "day", limit_remaining_nano_usd]],
    );
    await slow;
    chain.fail("refusing");
    now += 10 * MINUTE;
    const unknown = await stack.call("/api/v1/key", { key: session });
    chain.fail(null);
    assert.equal(unknown.status, 503, "what nobody knows is not told");
  });

  test("that is revoked is over at once", async () => {
    const wallet = makeWallet();
    await chain.stake(wallet.address, 1);
    await goTo(noonTomorrow());
    const session = await signIn(wallet);
    assert.equal((await ask(session)).status, 200);
    assert.equal((await stack.call("/auth", { method: "DELETE", key: session })).status, 204);
    assert.deepEqual([(await ask(session)).status, (await ask(session)).code], [401, "invalid_session"]);
  });
});

describe("a capacity", () => {
  test("is read once for all waiting requests, again after a minute, and not before", async () => {
    const wallet = makeWallet();
    await chain.stake(wallet.address, 1);
    await goTo(noonTomorrow());
    const session = await signIn(wallet);
    const before = readsOf(chain.pool);
    const said = await Promise.all(Array.from({ length: 10 }, () => ask(session)));
    assert.ok(said.every(({ status }) => status === 200));
    assert.equal(readsOf(chain.pool), before + 1);
    now += MINUTE - 1;
    assert.equal((await ask(session)).status, 200);
    assert.equal(readsOf(chain.pool), before + 1);
    now += 1;
    assert.equal((await ask(session)).status, 200);
    assert.equal(readsOf(chain.pool), before + 2);
  });

  test("serves ten minutes of its day where the chain does not answer, and then 503 says so", async () => {
    const wallet = makeWallet();
    await chain.stake(wallet.address, 1);
    await goTo(noonTomorrow());
    const session = await signIn(wallet);
    assert.equal((await ask(session)).status, 200);
    chain.fail("refusing");
    try {
      now += 10 * MINUTE - 1;
      await stack.gateway.prices.refresh();
      assert.equal((await ask(session)).status, 200);
      now += 1;
      const { status, code, headers } = await ask(session);
      assert.deepEqual([status, code, headers.get("retry-after")], [503, "chain_unavailable", "2"]);
      assert.equal((await capacityOf(wallet.address)).held, 0);
      // A request paid by an account waits for no chain.
      const { key } = await stack.account(USD);
      assert.equal((await ask(key)).status, 200);
    } finally {
      chain.fail(null);
    }
    assert.equal((await ask(session)).status, 200);
  });

  test("is waited for two seconds at most, and then the last one serves", async () => {
    const wallet = makeWallet();
    await chain.stake(wallet.address, 1);
    await goTo(noonTomorrow());
    const [session, fresh] = [await signIn(wallet), await signIn(makeWallet())];
    assert.equal((await ask(session)).status, 200);
    now += MINUTE;
    chain.fail("silent");
    try {
      const said = await Promise.all([ask(session), ask(session), ask(fresh)]);
      assert.deepEqual(
        said.map(({ status }) => status),
        [200, 200, 503],
      );
    } finally {
      chain.fail(null);
    }
  });

  test("is asked of the node 16 times at once for one address, no more: who has a record goes on with it", async () => {
    const known = makeWallet();
    await chain.stake(known.address, 1);
    await goTo(noonTomorrow());
    const session = await signIn(known);
    assert.equal((await ask(session)).status, 200);
    const strangers = await Promise.all(Array.from({ length: 17 }, () => signIn(makeWallet())));
    now += MINUTE;
    chain.fail("silent");
    try {
      const all = strangers.map((stranger) => ask(stranger));
      const refused = await Promise.race(all);
      assert.deepEqual([refused.status, refused.code, refused.headers.get("retry-after")], [503, "overloaded", "1"]);
      assert.equal((await ask(session)).status, 200);
      const codes = (await Promise.all(all)).map(({ code }) => code);
      assert.deepEqual(codes.sort(), [...Array(16).fill("chain_unavailable"), "overloaded"]);
    } finally {
      chain.fail(null);
    }
  });

  test("of a day is not taken for the next one's: at midnight it is read again, from a block of that day", async () => {
    const wallet = makeWallet();
    await chain.stake(wallet.address, 1);
    await goTo(noonTomorrow());
    const midnight = windowStart("day", now) + DAY_MS;
    await goTo(midnight - 2_000);
    const session = await signIn(wallet);
    assert.equal((await ask(session)).status, 200);
    await chain.stake(wallet.address, 2);
    // A second into the day, and the chain has no block of it yet.
    now = midnight + 1_000;
    assert.deepEqual([(await ask(session)).status, (await ask(session)).code], [503, "chain_unavailable"]);
    await chain.mineAt(midnight + 2_000);
    now = midnight + 2_000;
    assert.equal((await ask(session)).status, 200);
    assert.deepEqual(await capacityOf(wallet.address), { limit: 3 * USD, settled: CHARGE, held: 0 });
  });

  test("of the next day is none of this one's, where the chain's clock is ahead", async () => {
    const wallet = makeWallet();
    await chain.stake(wallet.address, 1);
    await goTo(noonTomorrow());
    const midnight = windowStart("day", now) + DAY_MS;
    now = midnight - 500;
    await stack.gateway.prices.refresh();
    const session = await signIn(wallet);
    await chain.mineAt(midnight + 1_000);
    assert.deepEqual([(await ask(session)).status, (await ask(session)).code], [503, "chain_unavailable"]);
    now = midnight;
    assert.equal((await ask(session)).status, 200);
  });

  test("of this day serves to its end, where the chain's clock is ahead", async () => {
    const wallet = makeWallet();
    await chain.stake(wallet.address, 1);
    await goTo(noonTomorrow());
    const midnight = windowStart("day", now) + DAY_MS;
    await goTo(midnight - 2 * MINUTE);
    const session = await signIn(wallet);
    assert.equal((await ask(session)).status, 200);
    now = midnight - 500;
    await chain.mineAt(midnight + 1_000);
    assert.deepEqual([(await ask(session)).status, (await ask(session)).status], [200, 200]);
    assert.deepEqual(await capacityOf(wallet.address), { limit: USD, settled: 3 * CHARGE, held: 0 });
    now = midnight;
  });
});

describe("an agent's session", () => {
  test("spends its token's capacity, and its owner's own session the owner's: never one the other's", async () => {
    const owner = makeWallet();
    const agent = await chain.makeAgent(owner.address);
    await chain.stake(owner.address, 2);
    await chain.stake(agent, 5);
    await goTo(noonTomorrow());
    const [personal, forAgent] = [await signIn(owner), await signIn(owner, agent)];
    assert.equal((await ask(forAgent)).status, 200);
    assert.equal((await ask(personal)).status, 200);
    assert.equal((await ask(forAgent)).status, 200);
    assert.deepEqual(await capacityOf(agent, "agent"), { limit: 5 * USD, settled: 2 * CHARGE, held: 0 });
    assert.deepEqual(await capacityOf(owner.address), { limit: 2 * USD, settled: CHARGE, held: 0 });
    assert.equal((await record(`vkey:agent:${lowerAddress(agent)}`))?.capacityNanoUsd, 5 * USD);
    const told = ownKeyAnswer.parse(await (await stack.call("/api/v1/key", { key: forAgent })).json()).data;
    assert.deepEqual([told.label, told.limit, told.usage_nano_usd], [lowerAddress(agent), 5, 2 * CHARGE]);
    assert.equal((await record(`vkey:${lowerAddress(owner.address)}`))?.capacityNanoUsd, 2 * USD);
    // Each identity spends its own capacity: an answer of up to 2.40 dollars fits into five, and not into two.
    const dear = { ...chat, model: "sim-extended", n: 4, max_tokens: 40_000 };
    assert.deepEqual(
      [(await ask(personal, dear)).code, (await ask(forAgent, dear)).status],
      ["capacity_exhausted", 200],
    );
  });

  test("of an older version, kept among those of wallets, is over: its agent's capacity is spent once", async () => {
    const owner = makeWallet();
    const agent = await chain.makeAgent(owner.address);
    await chain.stake(agent, 5);
    await goTo(noonTomorrow());
    const { text: old, digest } = stack.gateway.credentials.issue("is", agent);
    const partition = identityPartition(agent);
    const session = { digest, address: owner.address, agentToken: agent, expiresAt: now + DAY_MS };
    await stack.ledger.run(function* () {
      yield* send(partition, { type: "openSession", at: now, ...session });
      // The older version's capacity.
      yield* send(partition, { type: "setCapacity", at: now, limitNanoUsd: 5 * USD });
    });
    assert.equal((await ask(await signIn(owner, agent))).status, 200);
    assert.equal((await ask(old)).code, "invalid_session");
    assert.equal((await capacityOf(agent)).settled, 0);
  });

  test("is capped by its owner's reservation, from the next day on", async () => {
    const agent = await chain.makeAgent(chain.deployer.address);
    await chain.stake(agent, 5);
    await goTo(noonTomorrow());
    await chain.reserve(agent, 2);
    for (const limit of [5 * USD, 2 * USD]) {
      assert.equal((await ask(await signIn(chain.deployer, agent))).status, 200);
      assert.equal((await capacityOf(agent, "agent")).limit, limit);
      await goTo(noonTomorrow());
    }
  });

  test("is given to the token's owner of the moment", async () => {
    const buyer = makeWallet();
    const agent = await chain.makeAgent(chain.deployer.address);
    await chain.stake(agent, 1);
    await goTo(noonTomorrow());
    assert.equal((await ask(await signIn(chain.deployer, agent))).status, 200);
    await chain.giveAgent(agent, buyer.address);
    // A sign-in asks the chain anew, whatever is remembered.
    const message = messageOf(chain.deployer.address);
    const body = { message, signature: await chain.deployer.signMessage({ message }), agentToken: agent };
    assert.equal((await stack.call("/auth", { body })).status, 403);
    assert.equal((await ask(await signIn(buyer, agent))).status, 200);
  });

  test("lives on for five minutes after its token was given away, and no longer", async () => {
    const buyer = makeWallet();
    const agent = await chain.makeAgent(chain.deployer.address);
    await chain.stake(agent, 1);
    await goTo(noonTomorrow());
    const session = await signIn(chain.deployer, agent);
    const read = readsOf(agent);
    await chain.giveAgent(agent, buyer.address);
    now += 5 * MINUTE - 1;
    const reads = ["/api/v1/activity", "/api/v1/generation?id=req_00000000000000000000000000"];
    const statusesOfReads = () =>
      Promise.all(reads.map(async (path) => (await stack.call(path, { key: session })).status));
    assert.equal((await ask(session)).status, 200);
    assert.deepEqual(await statusesOfReads(), [200, 404]);
    assert.equal(readsOf(agent), read);
    now += 1;
    const refused = await ask(session);
    assert.deepEqual([refused.status, refused.code], [403, "not_agent_owner"]);
    assert.equal(readsOf(agent), read + 1);
    // The new owner reads the receipts of the agent's requests.
    assert.deepEqual(await statusesOfReads(), [403, 403]);
    assert.equal((await ask(await signIn(buyer, agent))).status, 200);
  });

  test("is told 503, never 403, where the chain does not name the token's owner", async () => {
    const owner = makeWallet();
    const agent = await chain.makeAgent(owner.address);
    await chain.stake(agent, 1);
    await goTo(noonTomorrow());
    const session = await signIn(owner, agent);
    assert.equal((await ask(session)).status, 200);
    chain.fail("refusing");
    try {
      now += 5 * MINUTE;
      const { status, code } = await ask(session);
      assert.deepEqual([status, code], [503, "chain_unavailable"]);
    } finally {
      chain.fail(null);
    }
    assert.equal((await ask(session)).status, 200);
  });

  test("is for any contract whose owner signs, wherever it was born", async () => {
    const owner = makeWallet();
    const stranger = await chain.makeLookalike(owner.address);
    await chain.stake(stranger, 1);
    await goTo(noonTomorrow());
    assert.equal((await ask(await signIn(owner, stranger))).status, 200);
    assert.deepEqual(await capacityOf(stranger, "agent"), { limit: USD, settled: CHARGE, held: 0 });
  });

  test("is for no address without a contract, and none whose owner is nobody or somebody else", async () => {
    const owner = makeWallet();
    const word = (text: string) => `7f${text.toLowerCase().replace("0x", "").padStart(64, "0")}5f5260205ff3`;
    const refused: Record<string, Address> = {
      "an address without a contract": makeWallet().address,
      "the signer itself": owner.address,
      "the pool, which has no owner": chain.pool,
      "nobody's": await chain.makeContract(word("0")),
      "somebody else's": await chain.makeContract(word(makeWallet().address)),
      "one with something before its owner": await chain.makeContract(
        word(`01${"0".repeat(22)}${owner.address.slice(2)}`),
      ),
      "one that answers as much as its gas pays for": await chain.makeContract("620400005ff3"),
      "one that reverts with as much": await chain.makeContract("620400005ffd"),
      "one that never ends": await chain.makeContract("5b5f56"),
    };
    for (const [name, agentToken] of Object.entries(refused)) {
      const { status, code } = await trySignIn(owner, agentToken);
      assert.deepEqual([status, code], [403, "not_agent_owner"], name);
    }
    // A wallet with an address of its own is none the worse for it.
    assert.equal((await ask(await signIn(owner))).code, "capacity_exhausted");
  });

  test("ends where the contract names another owner at another time, and begins again with it", async () => {
    const [one, other] = [makeWallet(), makeWallet()];
    // One wallet is the owner in even blocks, the other in odd ones: NUMBER, 1, AND, and a jump to one of two answers.
    const answer = ({ address }: PrivateKeyAccount) => `73${address.slice(2).toLowerCase()}5f5260205ff3`;
    const even = answer(one);
    const target = (7 + even.length / 2).toString(16).padStart(2, "0");
    const fickle = await chain.makeContract(`4360011660${target}57${even}5b${answer(other)}`);
    await chain.stake(fickle, 1);
    await goTo(noonTomorrow());
    const tries = async () =>
      (await Promise.all([one, other].map((each) => trySignIn(each, fickle)))).map((x) => x.status);
    const first = await tries();
    await goTo(now + MINUTE);
    const second = await tries();
    assert.deepEqual([first, second].sort(), [
      [200, 403],
      [403, 200],
    ]);
  });

  test("has nothing of the wallet that has its address: neither capacity, nor receipts, keys or answers", async () => {
    const owner = makeWallet();
    const wallet = await chain.makeContract(ownedWalletCode(owner.address));
    const itself: Signer = { address: wallet, signMessage: (signed) => owner.signMessage(signed) };
    await chain.stake(wallet, 2);
    await goTo(noonTomorrow());
    const named = { ...chat, messages: [{ role: "user", content: "the wallet's own [[prompt=100]] [[tokens=100]]" }] };
    const personal = await signIn(itself);
    const served = await askNamed(personal, named);
    assert.equal(served.status, 200);

    const asAgent = await signIn(owner, wallet);
    // The stake of an address serves one of its identities a day: the wallet asked first.
    const { status, code } = await ask(asAgent);
    assert.deepEqual([status, code], [402, "capacity_exhausted"]);
    assert.deepEqual(await capacityOf(wallet), { limit: 2 * USD, settled: CHARGE, held: 0 });
    assert.deepEqual(await capacityOf(wallet, "agent"), { limit: 0, settled: 0, held: 0 });
    // The same request under the same name is another one's: it is not answered with the wallet's answer.
    const again = await askNamed(asAgent, named);
    assert.deepEqual([again.status, again.headers.get("idempotent-replayed")], [402, null]);
    const [receipt] = await stack.rows("receipt", identityPartition(wallet));
    assert.ok(receipt !== undefined);
    const found = (key: string) => stack.call(`/api/v1/generation?id=${receipt.id}`, { key });
    assert.deepEqual([(await found(personal)).status, (await found(asAgent)).status], [200, 404]);
    const activity = async (key: string) =>
      ((await (await stack.call("/api/v1/activity?budget=capacity", { key })).json()) as { data: unknown[] }).data
        .length;
    assert.deepEqual([await activity(personal), await activity(asAgent)], [1, 0]);
    for (const path of ["/api/v1/keys", "/api/v1/credits"]) {
      assert.equal((await stack.call(path, { key: asAgent })).status, 403, path);
    }
    assert.deepEqual(
      [await record(`vkey:${lowerAddress(wallet)}`), await record(`vkey:agent:${lowerAddress(wallet)}`)].map(
        (each) => each?.capacityNanoUsd,
      ),
      [2 * USD, 0],
    );

    // The next day the agent asks first, and the wallet has nothing.
    await goTo(noonTomorrow());
    assert.equal((await ask(await signIn(owner, wallet))).status, 200);
    assert.equal((await ask(await signIn(itself))).code, "capacity_exhausted");
    assert.deepEqual(await capacityOf(wallet, "agent"), { limit: 2 * USD, settled: CHARGE, held: 0 });
    assert.deepEqual(await capacityOf(wallet), { limit: 0, settled: 0, held: 0 });
  });

  test("is a Safe's where a Safe owns the token", async () => {
    const [owner, stranger] = [makeWallet(), makeWallet()];
    const safe = await chain.makeSafe(owner.address);
    const agent = await chain.makeAgent(safe);
    await chain.stake(agent, 1);
    await chain.stake(safe, 4);
    await goTo(noonTomorrow());
    const signInAs = async (signer: PrivateKeyAccount, agentToken?: Address): Promise<Response> => {
      const message = messageOf(safe);
      const signature = await signForSafe(safe, signer, message);
      return stack.call("/auth", { body: { message, signature, agentToken } });
    };
    const [forAgent, personal] = [await signInAs(owner, agent), await signInAs(owner)];
    assert.deepEqual([forAgent.status, personal.status], [200, 200]);
    const { token } = (await forAgent.json()) as { token: string };
    assert.equal((await ask(token)).status, 200);
    assert.equal((await ask(((await personal.json()) as { token: string }).token)).status, 200);
    assert.deepEqual(await capacityOf(agent, "agent"), { limit: USD, settled: CHARGE, held: 0 });
    assert.deepEqual(await capacityOf(safe), { limit: 4 * USD, settled: CHARGE, held: 0 });
    // Its owner's own key is not the Safe's.
    assert.equal((await signInAs(stranger, agent)).status, 401);
    const message = messageOf(owner.address);
    const body = { message, signature: await owner.signMessage({ message }), agentToken: agent };
    assert.equal((await stack.call("/auth", { body })).status, 403);
  });
});
