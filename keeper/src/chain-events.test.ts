import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { type Liar, type Lie, startLiar } from "@inference/chain/testing/liar";
import { type Anvil, startAnvil } from "@inference/contracts/anvil";
import { deployLocalToken, fundLocalToken } from "@inference/devnet/third-parties/local-token";
import { type Address, createTestClient, erc20Abi, http, publicActions } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { openDatabase } from "./database.ts";
import { connectKeeperChain } from "./keeper-chain.ts";

const issuer = mnemonicToAccount("test test test test test test test test test test test junk");
const to: Address = "0x1111111111111111111111111111111111111111";
const CONFIRMATIONS = 4;
let anvil: Anvil;
let token: Address;
let node: Liar;
let chain: ReturnType<typeof clientOf>;
const alerts: string[] = [];
/** The first blocks that events were asked for from. */
const askedFrom: number[] = [];

before(async () => {
  anvil = await startAnvil(31337);
  token = await deployLocalToken({ rpcUrl: anvil.rpcUrl, issuer, name: "Dollar", symbol: "USDL" });
  chain = clientOf(anvil.rpcUrl);
  node = await startLiar(anvil.rpcUrl);
  node.lie = watch;
});
const watch: Lie = ({ method, params: [filter] }) => {
  if (method === "eth_getLogs") askedFrom.push(Number((filter as { fromBlock: string }).fromBlock));
  return undefined;
};
beforeEach(async () => {
  alerts.length = 0;
  askedFrom.length = 0;
  await chain.mine({ blocks: CONFIRMATIONS + 1 });
});
after(async () => {
  await node[Symbol.asyncDispose]();
  await anvil[Symbol.asyncDispose]();
});

test("an event that a reorganization removed is forgotten, and its replacement is open once, in order", async () => {
  const transfers = await follow();
  await fund(1n);
  const snapshot = await chain.snapshot();
  await fund(2n);
  await fund(3n);
  deepEqual(await transfers.open(), ["1", "2", "3"]);
  await chain.revert({ id: snapshot });
  await fund(4n);
  await chain.mine({ blocks: 2 });
  deepEqual(await transfers.open(), ["1", "4"]);
  await fund(5n);
  deepEqual(await transfers.open(), ["1", "4", "5"]);
  deepEqual(alerts, []);
});

test("a restart continues from its cursor, and knows the open items", async () => {
  const database = openDatabase(":memory:");
  const first = await follow(database);
  await fund(11n);
  await fund(12n);
  await chain.mine({ blocks: CONFIRMATIONS });
  deepEqual(await first.open(), ["11", "12"]);
  const head = Number(await chain.getBlockNumber());
  askedFrom.length = 0;
  const second = await follow(database, first.startBlock);
  deepEqual(await second.open(), ["11", "12"]);
  deepEqual(askedFrom, [head - CONFIRMATIONS + 1], "only what is not final is read again");
});

test("a done item is forgotten after it has stayed done, and not before", async () => {
  const transfers = await follow();
  await fund(21n);
  await fund(22n);
  await chain.mine({ blocks: CONFIRMATIONS });
  await transfers.open();
  transfers.done(["21"]);
  deepEqual(await transfers.open(), ["21", "22"]);
  transfers.done([]);
  await chain.mine({ blocks: CONFIRMATIONS });
  await transfers.open();
  transfers.done(["21"]);
  deepEqual(await transfers.open(), ["21", "22"], "it was open again between");
  await chain.mine({ blocks: CONFIRMATIONS });
  await transfers.open();
  transfers.done(["21"]);
  deepEqual(await transfers.open(), ["22"]);
});

test("a reorganization of final blocks raises an alert, and the chain is read again from the start", async () => {
  const transfers = await follow();
  const snapshot = await chain.snapshot();
  await fund(31n);
  await chain.mine({ blocks: CONFIRMATIONS });
  deepEqual(await transfers.open(), ["31"]);
  await chain.revert({ id: snapshot });
  await fund(32n);
  await chain.mine({ blocks: CONFIRMATIONS + 1 });
  deepEqual(await transfers.open(), ["32"]);
  equal(alerts.length, 1);
  match(alerts[0] ?? "", /reorganized.*is not the one we read/);
});

test("events of one key are one item, also when the earlier one is final", async () => {
  const sums = await follow(openDatabase(":memory:"), undefined, () => "all");
  await fund(41n);
  await chain.mine({ blocks: CONFIRMATIONS });
  deepEqual(await sums.open(), ["41"]);
  await fund(42n);
  deepEqual(await sums.open(), ["83"]);
  await chain.mine({ blocks: CONFIRMATIONS });
  deepEqual(await sums.open(), ["83"]);
});

test("unread events are an error, not an empty list", async () => {
  const transfers = await follow();
  node.lie = () => (response) => void response.writeHead(503).end();
  await rejects(transfers.open(), { name: "ChainUnavailable" });
  node.lie = watch;
  deepEqual(await transfers.open(), []);
});

/** A keeper's view of the transfers from here on: by their amounts, or as one sum. */
async function follow(database = openDatabase(":memory:"), from?: number, key?: () => string) {
  const startBlock = from ?? Number(await chain.getBlockNumber()) + 1;
  const settings = { name: "primary", chainId: 31337, eid: 31337, rpcUrl: node.url, contracts: {} };
  const { events } = connectKeeperChain(
    { ...settings, startBlock, confirmations: CONFIRMATIONS },
    {
      account: issuer,
      database,
      now: Date.now,
      log: (_, event, fields) => void alerts.push(`${event} ${JSON.stringify(fields)}`),
    },
  );
  const transfers = events.track(
    { address: token, abi: erc20Abi, eventName: "Transfer" },
    {
      keys: ({ value }) => [key?.() ?? String(value)],
      value: ({ value }) => String(value),
      merge: (before, value) => String(BigInt(before) + BigInt(value)),
    },
  );
  return {
    startBlock,
    done: transfers.done,
    async open() {
      await events.poll();
      return [...transfers.open().values()];
    },
  };
}

function fund(amount: bigint): Promise<void> {
  return fundLocalToken({ rpcUrl: anvil.rpcUrl, token, issuer, to, amount });
}

function clientOf(rpcUrl: string) {
  return createTestClient({ mode: "anvil", transport: http(rpcUrl), cacheTime: 0 }).extend(publicActions);
}
