import { equal, match, throws } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { toHex } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { readKeeperSettings } from "./settings.ts";

const folder = mkdtempSync(join(tmpdir(), "keeper-settings-"));
const KEEPER_FILE = join(folder, "keeper.json");
const KEEPER_KEY = `0x${"1".repeat(64)}`;
after(() => rmSync(folder, { recursive: true, force: true }));

const address = `0x${"2".repeat(40)}`;
const chain = { name: "primary", chainId: 1, eid: 30101, rpcUrl: "http://127.0.0.1:1", startBlock: 0 };
const primary = { ...chain, contracts: { inferenceSettlement: address } };
const settings = { databaseFile: "x", dailyBudgetWei: "1000", minPayment: "1000000", chains: [primary] };

test("amounts are read exactly, and the default poll is every half a minute", () => {
  const read = readWith({ ...settings, dailyBudgetWei: "100000000000000000001" });
  equal(read.dailyBudgetWei, 100_000_000_000_000_000_001n);
  equal(read.pollMs, 30_000);
  equal(read.chains[0]?.contracts.inferenceSettlement, address);
});

test("all problems are reported together, a number for an amount and an unknown field among them", () => {
  const wrong = { ...settings, dailyBudgetWei: 1000, interval: 5, chains: [{ ...primary, rpcUrl: "nowhere" }] };
  throws(
    () => readWith(wrong),
    (error: Error) => {
      match(error.message, /dailyBudgetWei must be a whole number in a text\./);
      match(error.message, /interval is unknown\./);
      match(error.message, /chains\.0\.rpcUrl must be an http\(s\) URL\./);
      return true;
    },
  );
  throws(() => readKeeperSettings({ KEEPER_FILE }), /KEEPER_KEY must be a private key/);
  throws(() => readKeeperSettings({ KEEPER_KEY }), /KEEPER_FILE must name the keeper's JSON file/);
});

test("standing orders need a relay, which publishes the puller", () => {
  const standingOrders = { below: "5000000", least: "1000000", dailyBudgetWei: "1" };
  throws(() => readWith({ ...settings, standingOrders }), /^SettingsError: standingOrders needs relay/);
});

test("the primary chain comes first, and there is one", () => {
  const secondary = { ...chain, name: "secondary", contracts: { tokenBackingOutbox: address } };
  throws(() => readWith({ ...settings, chains: [secondary, primary] }), /begins with the primary chain/);
  throws(() => readWith({ ...settings, chains: [secondary] }), /begins with the primary chain/);
  throws(() => readWith({ ...settings, chains: [primary, primary] }), /begins with the primary chain/);
});

test("a development key is refused on a chain that is not local", () => {
  const local = { ...primary, chainId: 31337 };
  const secondary = { ...chain, name: "secondary", contracts: { tokenBackingOutbox: address } };
  const developer = mnemonicToAccount("test test test test test test test test test test test junk");
  const key = toHex(developer.getHdKey().privateKey ?? new Uint8Array());
  equal(readWith({ ...settings, chains: [local] }, key).key, key);
  const refusal = new RegExp(`^DevelopmentKeyError: ${developer.address} .* cannot be the keeper on chain 1\\.$`);
  throws(() => readWith(settings, key), refusal);
  throws(() => readWith({ ...settings, chains: [local, secondary] }, key), refusal);
});

function readWith(content: object, key: string = KEEPER_KEY) {
  writeFileSync(KEEPER_FILE, JSON.stringify(content));
  return readKeeperSettings({ KEEPER_FILE, KEEPER_KEY: key });
}
