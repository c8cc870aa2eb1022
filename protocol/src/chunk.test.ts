import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { bytesToHex, concatHex, type Hex, hexToBytes, keccak256, numberToHex } from "viem";
import { CHUNK_BYTES, ChunkError, decodeChunk, encodeChunk, recordLeaf, type SettleRecord } from "./chunk.ts";
import { merkleRootOf, pureKeccak, verifyProof } from "./merkle-tree.ts";

const bytes = (size: number) => fc.uint8Array({ minLength: size, maxLength: size }).map((array) => bytesToHex(array));
const nanoUsd = fc.integer({ min: 0, max: 9_000_000_000_000_000 });
const part = fc.record(
  {
    agent: fc.constantFrom<Hex>(
      "0x00000000000000000000000000000000000000a1",
      "0xff000000000000000000000000000000000000a2",
    ),
    day: fc.constantFrom(20_000, 20_001, 256),
    amountNanoUsd: nanoUsd,
  },
  { noNullPrototype: true },
);
const record = fc.record(
  {
    account: bytes(20),
    beforeNanoUsd: nanoUsd,
    amountNanoUsd: nanoUsd,
    root: bytes(32),
    parts: fc.array(part, { maxLength: 4 }),
  },
  { noNullPrototype: true },
);
const chunks = fc.array(record, { maxLength: 12 });

test("a chunk is read as it was written, and has the bytes that it is said to have", () => {
  fc.assert(
    fc.property(chunks, (records) => {
      const data = encodeChunk(records);
      assert.deepEqual(decodeChunk(data), records);
      const parts = records.flatMap((each) => each.parts);
      const agents = new Set(parts.map(({ agent, day }) => `${agent} ${day}`)).size;
      const { agent, record, part } = CHUNK_BYTES;
      assert.equal(data.length, 1 + agents * agent + records.length * record + parts.length * part);
    }),
  );
});

test("the agents are in ascending order of their bytes, each day of an agent once, whatever its capitals", () => {
  const [low, high] = [
    "0x00000000000000000000000000000000000000a1",
    "0xff000000000000000000000000000000000000A2",
  ] as const;
  const parts = [
    { agent: high, day: 256, amountNanoUsd: 1 },
    { agent: low, day: 20_000, amountNanoUsd: 2 },
    { agent: high.toLowerCase() as Hex, day: 256, amountNanoUsd: 3 },
    { agent: low, day: 256, amountNanoUsd: 4 },
  ];
  const data = encodeChunk([recordOf({ parts })]);
  const table = concatHex(["0x03", low, "0x0100", low, "0x4e20", high.toLowerCase() as Hex, "0x0100"]);
  assert.equal(bytesToHex(data.subarray(0, 67)), table);
  assert.deepEqual(
    [...data.subarray(-36)].filter((_, at) => at % 9 === 0),
    [2, 1, 2, 0],
  );
});

test("a record's leaf is the hash of its fields, packed, and the chunk's root proves it", () => {
  const part = { agent: "0x00000000000000000000000000000000000000a1", day: 258, amountNanoUsd: 2 ** 40 } as const;
  const one = recordOf({ parts: [part] });
  const packed = concatHex([
    ...([one.account, numberToHex(5, { size: 8 }), numberToHex(2 ** 50, { size: 8 }), one.root, "0x01"] as const),
    ...([part.agent, "0x0102", numberToHex(2 ** 40, { size: 8 })] as const),
  ]);
  assert.equal(bytesToHex(recordLeaf(one)), keccak256(packed));
  const other = recordOf({ beforeNanoUsd: 6 });
  const root = merkleRootOf([recordLeaf(one), recordLeaf(other)], pureKeccak);
  assert.ok(verifyProof(root, recordLeaf(one), [recordLeaf(other)]));
});

test("data that ends early, names no agent of the table or has too large an amount is no chunk", () => {
  const part = { agent: "0x00000000000000000000000000000000000000a1", day: 1, amountNanoUsd: 1 } as const;
  const data = encodeChunk([recordOf({ parts: [part] })]);
  const whole = new Set([1 + 22, data.length]);
  for (let length = 0; length < data.length; length++) {
    if (!whole.has(length)) assert.throws(() => decodeChunk(data.subarray(0, length)), ChunkError, `${length} bytes`);
  }
  assert.throws(() => decodeChunk(data.with(data.length - 9, 1)), /not in the chunk's table/);
  assert.throws(() => decodeChunk(data.with(1 + 22 + 20, 0xff)), /above the largest/);
});

test("a record that does not fit is not written", () => {
  assert.throws(() => encodeChunk([recordOf({ amountNanoUsd: -1 })]), RangeError);
  assert.throws(() => encodeChunk([recordOf({ root: "0x12" })]), RangeError);
  const part = (day: number) => ({ agent: recordOf({}).account, day, amountNanoUsd: 1 });
  const parts = Array.from({ length: 256 }, (_, day) => part(day));
  assert.throws(() => encodeChunk([recordOf({ parts })]), RangeError);
  const twoRecords = [parts.slice(0, 128), parts.slice(128)].map((each) => recordOf({ parts: each }));
  assert.throws(() => encodeChunk(twoRecords), /at most 255 agents and days/);
  assert.throws(() => recordLeaf(recordOf({ account: hexToBytes("0x12") as unknown as Hex })));
});

function recordOf(changed: Partial<SettleRecord>): SettleRecord {
  return {
    ...{
      account: `0x${"ab".repeat(20)}`,
      beforeNanoUsd: 5,
      amountNanoUsd: 2 ** 50,
      root: `0x${"cd".repeat(32)}`,
      parts: [],
    },
    ...changed,
  };
}
