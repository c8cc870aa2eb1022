import assert from "node:assert/strict";
import { test } from "node:test";
import { createChainClient } from "./rpc.ts";
import { type Answer, type Lie, type Question, shareLiar } from "./testing/liar.ts";
import { beginAnew, chain } from "./testing/shared-chain.ts";
import { timers } from "./testing/timers.ts";
import { alice, bob, clientOf, type Watch, watch } from "./testing/watch.ts";

beginAnew();

const liar = shareLiar(() => chain.rpcUrl);
/** The deep run has every lie, the fast run every fourth one. */
const some = (lies: Readonly<Record<string, Lie>>): [string, Lie][] =>
  Object.entries(lies).filter((_, index) => process.env.DEEP === "1" || index % 4 === 0);

type Log = { address: string; topics: string[]; data: string; blockNumber: string; removed: boolean };

/** Alters the events that the node shows. */
const logs = (alter: (logs: Log[]) => unknown[]): Lie => {
  return async ({ method }, honest) =>
    method === "eth_getLogs" ? { result: alter((await honest()).result as Log[]) } : undefined;
};
/** Replaces the block under a tag. */
const tag = (name: string, instead: string): Lie => {
  return ({ method, params }, honest) =>
    method === "eth_getBlockByNumber" && params[0] === name ? honest({ params: [instead, false] }) : undefined;
};
const only = (method: string, answer: Answer): Lie => {
  return (question) => (question.method === method ? answer : undefined);
};
const word = (value: number | bigint) => value.toString(16).padStart(64, "0");
const hex = (value: number) => `0x${value.toString(16)}`;

/** Alice activates 5, 7 and 11 token units, and all is final. */
async function activateThree(): Promise<void> {
  for (const amount of [5n, 7n, 11n]) await chain.activate(alice, amount);
  await chain.finalize();
}

async function honestAgain({ drain, balance }: Watch): Promise<void> {
  liar.lie = undefined;
  for (let poll = 0; poll < 5; poll += 1) await drain();
  assert.equal(await balance(alice), 23_000);
  assert.equal(await balance(bob), 0);
}

const notBelieved: Record<string, Lie> = {
  "no events": logs(() => []),
  "one event less at the end": logs((all) => all.slice(0, -1)),
  "all events but the first": logs((all) => all.filter(({ topics }) => BigInt(topics[1] ?? 0) !== 1n)),
  "an event twice": logs((all) => [...all, ...all.slice(-1)]),
  "all events twice": logs((all) => [...all, ...all]),
  "a larger amount": logs(([first, ...rest]) => [withWords(first, { 0: 500n }), ...rest]),
  "a larger amount and a sum that fits it": logs((all) => [
    ...all.slice(0, -1),
    withWords(all.at(-1), { 0: 1_000n, 1: 1_012n }),
  ]),
  "an event that never was": logs((all) => [...all, { ...all.at(-1), ...withWords(all.at(-1), { 0: 1n, 1: 24n }) }]),
  "an event of another contract": logs((all) => all.map((log) => ({ ...log, address: bob }))),
  "another event": logs((all) => all.map((log) => ({ ...log, topics: [`0x${word(1)}`, ...log.topics.slice(1)] }))),
  "a removed event": logs((all) => all.map((log) => ({ ...log, removed: true }))),
  "an event of a block that is not final": logs((all) => all.map((log) => ({ ...log, blockNumber: "0xffff" }))),
  "an event with too few words": logs((all) => all.map((log) => ({ ...log, data: log.data.slice(0, -64) }))),
  "a state without activations": only("eth_call", { result: `0x${word(0)}` }),
  "a state with more activations than events": only("eth_call", { result: `0x${word(1_000)}` }),
};

for (const [name, lie] of some(notBelieved)) {
  test(`${name}: nothing is credited, one alert, and all is credited by honest answers`, async () => {
    const watching = watch(chain, { url: liar.url });
    await activateThree();
    liar.lie = lie;
    for (let poll = 0; poll < 8; poll += 1) await watching.drain();
    assert.equal(await watching.balance(alice), 0);
    assert.equal(watching.watcher.status().state, "starting");
    assert.equal(watching.alerts.length, 1);
    assert.match(watching.alerts[0] ?? "", /^chain 31337: not believed: /);
    await honestAgain(watching);
  });
}

const noAnswer: Record<string, Lie> = {
  "too many requests": () => (response) => response.writeHead(429, { "retry-after": "3600" }).end(),
  "a page instead of an answer": () => (response) => response.writeHead(200).end("<html>welcome</html>"),
  "ten megabytes": () => (response) => response.end(`{"result":"${"x".repeat(10 << 20)}"}`),
  "no answer at all": () => () => {},
  "a broken connection": () => (response) => response.destroy(),
  "null for everything": () => ({ result: null }),
  "an error for everything": () => ({ error: { code: -32000, message: "no backend is currently healthy" } }),
  "a revert for every call": only("eth_call", { error: { code: 3, message: "execution reverted" } }),
  "no contract where it stands": only("eth_call", { result: "0x" }),
  "events that are no list": only("eth_getLogs", { result: "0x" }),
  "no final block": only("eth_getBlockByNumber", { result: null }),
  "a block without a hash": only("eth_getBlockByNumber", { result: { number: "0x1", timestamp: "0x1" } }),
  "a final block above the latest": tag("latest", "0x2"),
  "a block that changes while it is read": changingBlock(),
};

for (const [name, lie] of some(noAnswer)) {
  test(`${name}: no alert at first, reported after two minutes, ended by honest answers`, async () => {
    const client = createChainClient({
      url: liar.url,
      fetch,
      random: () => 0,
      timers,
      timeoutMs: 200,
      pauseMs: 1,
      tries: 2,
    });
    const watching = watch(chain, { client });
    await activateThree();
    liar.lie = lie;
    assert.equal((await watching.drain()).outcome, "waiting");
    assert.equal((await watching.drain()).outcome, "waiting");
    assert.deepEqual(watching.alerts, []);
    watching.clock.skewMs = 121_000;
    assert.equal((await watching.drain()).outcome, "waiting");
    const ofCredits = (watching.alerts as string[]).filter((alert) => !alert.includes("ceiling"));
    assert.equal(ofCredits.length, 1);
    assert.equal(await watching.balance(alice), 0);
    await honestAgain(watching);
  });
}

test("a head and a final block that go backwards are waited out in silence", async () => {
  const watching = watch(chain, { url: liar.url });
  await activateThree();
  await watching.drain();
  const latest = await chain.latest();
  await chain.mine(30);
  await watching.drain();
  const block = watching.watcher.status().block;
  for (const lie of [tag("finalized", hex(latest - 8)), tag("latest", hex(latest)), tag("latest", hex(latest + 21))]) {
    liar.lie = lie;
    assert.equal((await watching.drain()).outcome, "waiting");
    assert.equal(watching.watcher.status().block, block);
    assert.equal(watching.watcher.status().state, "following");
  }
  assert.deepEqual(watching.alerts, []);
  await honestAgain(watching);
});

test("a node that once claims blocks far ahead is believed no less afterwards", async () => {
  const watching = watch(chain, { url: liar.url });
  await activateThree();
  liar.lie = async ({ method, params }, honest) => {
    if (method !== "eth_getBlockByNumber" || String(params[0]).startsWith("0x")) return undefined;
    const { result } = await honest();
    return { result: { ...(result as object), number: "0xfffff" } };
  };
  for (let poll = 0; poll < 3; poll += 1) assert.equal((await watching.drain()).outcome, "waiting");
  assert.equal(await watching.balance(alice), 0);
  await honestAgain(watching);
});

test("a node of another chain stops the watcher at the start", async () => {
  const { drain, alerts, balance } = watch(chain, { url: liar.url });
  await activateThree();
  liar.lie = only("eth_chainId", { result: "0x1" });
  assert.equal((await drain()).outcome, "halted");
  assert.deepEqual(alerts, ["chain 31337: stopped: PRIMARY_CHAIN_ID is 31337, and the node is on chain 1"]);
  assert.equal(await balance(alice), 0);
});

test("a node that changes to another chain stops the watcher within the hour", async () => {
  const { drain, alerts, clock } = watch(chain, { url: liar.url });
  await activateThree();
  await drain();
  liar.lie = only("eth_chainId", { result: "0x1" });
  assert.equal((await drain()).outcome, "idle");
  clock.skewMs = 3_600_000;
  assert.equal((await drain()).outcome, "halted");
  assert.equal(alerts.length, 1);
});

test("a chain without the anchor stops the watcher; one with it does not", async () => {
  await activateThree();
  const { hash } = await chain.rpc<{ hash: string }>("eth_getBlockByNumber", ["0x2", false]);
  const right = watch(chain, { anchor: { block: 2, hash } });
  assert.equal((await right.drain()).outcome, "advanced");
  const wrong = watch(chain, { anchor: { block: 3, hash } });
  assert.equal((await wrong.drain()).outcome, "halted");
  assert.match(wrong.alerts.join(), /block 3 is 0x[0-9a-f]{64}, not 0x[0-9a-f]{64} as PRIMARY_ANCHOR says/);
  const unknown = watch(chain, { anchor: { block: 9_999, hash } });
  assert.equal((await unknown.drain()).outcome, "waiting");
});

test("activations whose numbers do not follow each other stop the watcher", async () => {
  const { drain, alerts, balance } = watch(chain, { url: liar.url });
  await activateThree();
  liar.lie = logs((all) => all.map((log, index) => (index === 1 ? withId(log, 9) : log)));
  assert.equal((await drain()).outcome, "halted");
  assert.match(
    alerts.join(),
    /the events do not follow those read before: expected activation 2, 12 in total, 12000 of 0x0+a11ce, got activation 9/,
  );
  assert.equal(await balance(alice), 0);
});

test("an activation that a node hid in its events and its state keeps the operator told until the books are rebuilt", async () => {
  const { drain, watcher, alerts, balance } = watch(chain, { url: liar.url });
  liar.lie = async ({ method }, honest) => {
    if (method === "eth_getLogs") return { result: [] };
    return method === "eth_call" ? { result: `0x${word(0)}` } : honest();
  };
  await activateThree();
  await drain();
  assert.equal(await balance(alice), 0);
  liar.lie = undefined;
  await chain.activate(alice, 13n);
  await chain.finalize();
  const { block } = watcher.status();
  assert.equal((await drain()).outcome, "waiting");
  assert.equal(alerts.length, 1);
  assert.equal(watcher.status().block, block);
  assert.equal(await balance(alice), 0);
});

test("a node that refuses more than three blocks at a time is read three blocks at a time", async () => {
  const watching = watch(chain, { url: liar.url });
  await activateThree();
  liar.lie = async ({ method, params }) => {
    const { fromBlock, toBlock } = (params[0] ?? {}) as Record<string, string>;
    const isTooLarge = method === "eth_getLogs" && Number(toBlock) - Number(fromBlock) >= 3;
    return isTooLarge ? { error: { code: -32602, message: "block range too large" } } : undefined;
  };
  assert.equal((await watching.drain()).outcome, "advanced");
  assert.equal(await watching.balance(alice), 23_000);
  assert.deepEqual(watching.alerts, []);
});

test("a node that cuts its answers off is read in smaller pieces until they are whole", async () => {
  const watching = watch(chain, { url: liar.url });
  await activateThree();
  liar.lie = logs((all) => all.slice(0, 1));
  for (let poll = 0; poll < 30; poll += 1) await watching.drain();
  assert.equal(await watching.balance(alice), 23_000);
  assert.equal(watching.watcher.status().state, "following");
});

test("a node that knows blocks by number only is good enough", async () => {
  const watching = watch(chain, { url: liar.url });
  await activateThree();
  liar.lie = ({ method, params }) =>
    method === "eth_call" && typeof params[1] === "object"
      ? { error: { code: -32602, message: "invalid argument 1: cannot unmarshal object" } }
      : undefined;
  await watching.drain();
  assert.equal(await watching.balance(alice), 23_000);
});

test("events cannot be had without the state: a node that fails between them is asked again", async () => {
  const watching = watch(chain, { url: liar.url });
  await activateThree();
  // Each question fails the first time.
  const asked = new Set<string>();
  liar.lie = (question) => {
    const text = JSON.stringify([question.method, question.params]);
    if (asked.has(text)) return undefined;
    asked.add(text);
    return (response) => response.writeHead(503).end();
  };
  await watching.drain();
  assert.equal(await watching.balance(alice), 23_000);
  assert.deepEqual(watching.alerts, []);
});

test("a node that hides blocks that are not final does not keep a credited activation pending", async () => {
  const { drain, watcher, balance } = watch(chain, { url: liar.url });
  await chain.finalize();
  await drain();
  await chain.activate(alice, 23n);
  await drain();
  assert.equal(watcher.pendingActivations(alice).length, 1);
  const block = await chain.latest();
  await chain.finalize();
  liar.lie = ({ method, params }) => {
    const { fromBlock } = (params[0] ?? {}) as Record<string, string>;
    return method === "eth_getLogs" && Number(fromBlock) > block
      ? { error: { code: -32000, message: "no" } }
      : undefined;
  };
  await drain();
  assert.equal(await balance(alice), 23_000);
  assert.deepEqual(watcher.pendingActivations(alice), []);
});

const foundByWitness: Record<string, Lie> = {
  "another account": logs((all) => all.map((log) => withAccount(log, bob))),
  "nothing, in events and state alike": async ({ method }, honest) => {
    if (method === "eth_getLogs") return { result: [] };
    return method === "eth_call" ? { result: `0x${word(0)}` } : honest();
  },
};

for (const [name, lie] of Object.entries(foundByWitness)) {
  test(`a second node finds out a first that shows ${name}`, async () => {
    const watching = watch(chain, { url: liar.url, secondNode: clientOf(chain.rpcUrl) });
    await activateThree();
    liar.lie = lie;
    for (let poll = 0; poll < 3; poll += 1) await watching.drain();
    assert.equal(await watching.balance(alice), 0);
    assert.equal(await watching.balance(bob), 0);
    assert.match(watching.alerts.join(), /the two nodes have different events or totals/);
    await honestAgain(watching);
  });
}

test("a second node holds back a first that calls blocks final too early", async () => {
  const watching = watch(chain, { url: liar.url, secondNode: clientOf(chain.rpcUrl) });
  await chain.activate(alice, 23n);
  liar.lie = async ({ method, params }, honest) =>
    method === "eth_getBlockByNumber" && params[0] === "finalized" ? honest({ params: ["latest", false] }) : undefined;
  const result = await watching.drain();
  assert.ok(result.outcome === "waiting" && result.reason.endsWith("is not final on the second node"));
  assert.equal(await watching.balance(alice), 0);
  await chain.finalize();
  await honestAgain(watching);
});

function changingBlock(): Lie {
  let count = 0;
  return async ({ method, params }: Question, honest) => {
    if (method !== "eth_getBlockByNumber" || String(params[0]).length > 6) return undefined;
    const { result } = await honest();
    return { result: { ...(result as object), hash: `0x${word(++count)}` } };
  };
}

function withWords(log: Log | undefined, changed: Record<number, bigint>): Partial<Log> {
  const words = (log?.data.slice(2).match(/.{64}/g) ?? []).map((old, index) => {
    const value = changed[index];
    return value === undefined ? old : word(value);
  });
  return { ...log, data: `0x${words.join("")}` };
}

function withId(log: Log, id: number): Log {
  const [event = "", , ...rest] = log.topics;
  return { ...log, topics: [event, `0x${word(id)}`, ...rest] };
}

function withAccount(log: Log, account: string): Log {
  const [event = "", id = "", , ...rest] = log.topics;
  return { ...log, topics: [event, id, `0x${word(BigInt(account))}`, ...rest] };
}
