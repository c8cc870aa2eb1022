import assert from "node:assert/strict";
import { test } from "node:test";
import { edgeConfigOf, settingsOf } from "./settings.ts";

const given = {
  BASE_URL: "http://gateway.test",
  GATEWAY_SECRET: "00".repeat(32),
  UPSTREAM_BASE_URL: "http://provider.test",
  UPSTREAM_API_KEY: "key",
  PRIMARY_RPC_URL: "http://node.test",
  PRIMARY_CHAIN_ID: "31337",
  SETTLEMENT_ADDRESS: "0x0000000000000000000000000000000000000001",
};
const MIB = 1024 * 1024;
const chatBodyBytes = (more: object) => edgeConfigOf(settingsOf({ ...given, ...more })).request.chatBodyBytes;

test("a Worker starts without a word on the size of bodies: a chat may have 1 MiB", () => {
  assert.equal(chatBodyBytes({}), MIB);
  assert.equal(chatBodyBytes({ CHAT_BODY_BYTES: "" }), MIB);
  assert.equal(chatBodyBytes({ CHAT_BODY_BYTES: "524288" }), MIB / 2);
});

test("a larger one than a Worker reads is refused at the start", () => {
  assert.throws(() => chatBodyBytes({ CHAT_BODY_BYTES: String(MIB + 1) }), /must be at most 1048576 on this host/);
});

test("an answer is read on for 25 s after its client has gone, or less: longer is refused at the start", () => {
  const drainMs = (more: object) => edgeConfigOf(settingsOf({ ...given, ...more })).drainMs;
  assert.deepEqual([drainMs({}), drainMs({ DRAIN_MS: "1000" })], [25_000, 1_000]);
  assert.throws(() => drainMs({ DRAIN_MS: "25001" }), /DRAIN_MS: must be at most 25000 on this host/);
});

test("a variable may be JSON in place of a text, and a region must be one of Cloudflare's", () => {
  const settings = settingsOf({ ...given, PRIMARY_CHAIN_ID: 31_337, MODEL_ALIASES: { ours: "theirs" }, PARTITION: {} });
  assert.deepEqual([settings.PRIMARY_CHAIN_ID, settings.MODEL_ALIASES], [31_337, { ours: ["theirs"] }]);
  assert.equal(settingsOf({ ...given, LOCATION_HINT: "weur" }).LOCATION_HINT, "weur");
  assert.throws(() => settingsOf({ ...given, LOCATION_HINT: "moon" }), /LOCATION_HINT: /);
});

test("a Worker's variable has the chains as a deployment prints them, with three chains and all contracts in its 5 KB", () => {
  const addresses = Object.fromEntries(
    [...Array(17)].map((_, index) => [`aContractOfSomeLength${index}`, `0x${"a".repeat(40)}`]),
  );
  const chain = { name: "secondary1", eid: 30_101, block: 17_000_000, gasUsed: 30_000_000, addresses };
  const chains = [31_337, 31_338, 31_339].map((chainId) => {
    return { ...chain, chainId, stablecoin: { decimals: 6, symbol: "USDC" } };
  });
  chains[0] = {
    ...chain,
    chainId: 31_337,
    addresses: { ...addresses, inferenceSettlement: given.SETTLEMENT_ADDRESS },
  } as never;
  const text = JSON.stringify(chains, null, 2);
  assert.ok(Buffer.byteLength(text) < 5 * 1024, `${Buffer.byteLength(text)}`);
  assert.deepEqual(
    edgeConfigOf(settingsOf({ ...given, CHAINS: text })).chains.map(({ chainId, role }) => [chainId, role]),
    [
      [31_337, "primary"],
      [31_338, "secondary"],
      [31_339, "secondary"],
    ],
  );
});
