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

test("a Worker starts without a word on the size of bodies: a chat has as much as one sender may hold", () => {
  assert.equal(chatBodyBytes({}), 2 * MIB);
  assert.equal(chatBodyBytes({ CHAT_BODY_BYTES: "" }), 2 * MIB);
  assert.equal(chatBodyBytes({ CHAT_BODY_BYTES: "1048576" }), MIB);
});

test("a larger one than a Worker's memory has room for is refused at the start", () => {
  assert.throws(() => chatBodyBytes({ CHAT_BODY_BYTES: String(2 * MIB + 1) }), /must be at most 2097152 on this host/);
});
