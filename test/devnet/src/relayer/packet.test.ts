import { deepEqual, equal, throws } from "node:assert/strict";
import { test } from "node:test";
import { concatHex, keccak256, numberToHex, pad } from "viem";
import { decodeExecution, decodePacket } from "./packet.ts";

const sender = pad("0x1111111111111111111111111111111111111111");
const receiver = "0x2222222222222222222222222222222222222222";
const guid = pad("0xab");
const header = concatHex([
  "0x01",
  numberToHex(258, { size: 8 }),
  numberToHex(31337, { size: 4 }),
  sender,
  numberToHex(31338, { size: 4 }),
  pad(receiver),
]);

test("a packet is decoded into its parts", () => {
  const { encoded, ...parts } = decodePacket(concatHex([header, guid, "0xc0ffee"]));
  deepEqual(parts, {
    header,
    payloadHash: keccak256(concatHex([guid, "0xc0ffee"])),
    nonce: 258n,
    srcEid: 31337,
    sender,
    dstEid: 31338,
    receiver,
    guid,
    message: "0xc0ffee",
  });
  equal(encoded, concatHex([header, guid, "0xc0ffee"]));
});

test("a packet may have no message", () => {
  equal(decodePacket(concatHex([header, guid])).message, "0x");
});

test("a packet that is too short or of another version is refused", () => {
  throws(() => decodePacket(header), /a packet of 81 bytes/);
  throws(() => decodePacket(concatHex(["0x02", `0x${header.slice(4)}`, guid])), /a packet of version 2/);
});

const receiveOption = (gas: bigint, value?: bigint) =>
  concatHex([
    "0x01",
    numberToHex(value === undefined ? 17 : 33, { size: 2 }),
    "0x01",
    numberToHex(gas, { size: 16 }),
    ...(value === undefined ? [] : [numberToHex(value, { size: 16 })]),
  ]);

test("a message's gas and value are the sums of its options for receiving", () => {
  const drop = concatHex(["0x01", numberToHex(49, { size: 2 }), "0x02", pad("0x05", { size: 48 })]);
  const forVerifier = concatHex(["0x02", numberToHex(2, { size: 2 }), "0x0001"]);
  const options = concatHex(["0x0003", receiveOption(100_000n), drop, forVerifier, receiveOption(50_000n, 7n)]);
  deepEqual(decodeExecution(options), { gas: 150_000n, valueWei: 7n });
  deepEqual(decodeExecution("0x0003"), { gas: 0n, valueWei: 0n });
});

test("malformed options are refused", () => {
  for (const options of [
    "0x",
    "0x0001",
    "0x000301",
    "0x0003010011010000",
    "0x000301000001",
    "0x00030100020100",
  ] as const) {
    throws(() => decodeExecution(options), { name: "PacketError" });
  }
});
