import assert from "node:assert/strict";
import { test } from "node:test";
import { gasOf as measuredGas } from "@inference/contracts/gas-table";
import { encodeChunk, type ServedPart } from "@inference/protocol/chunk";
import type { Address } from "@inference/protocol/credential";
import { gasOf, nextChunk, type Payable } from "./next-chunk.ts";
import { settleCall } from "./settlement-contract.ts";

const limits = { maxGas: 15_000_000, maxBytes: 131_072 };
const ROOM = 10n ** 15n;

function addressOf(index: number): Address {
  return `0x${index.toString(16).padStart(40, "0")}`;
}

function payable(index: number, amountNanoUsd: number, parts: readonly ServedPart[] = []): Payable {
  const record = { account: addressOf(index), beforeNanoUsd: 0, amountNanoUsd, root: `0x${"ab".repeat(32)}`, parts };
  return { record: record as Payable["record"], payableNanoUsd: amountNanoUsd };
}

const many = (count: number, parts: (index: number) => ServedPart[] = () => []) =>
  Array.from({ length: count }, (_, index) => payable(index, 1_000, parts(index)));
const part = (agent: number, day = 20_000): ServedPart => ({ agent: addressOf(agent), day, amountNanoUsd: 10 });

test("a chunk has as many records as fit its gas or its bytes, oldest first", () => {
  const maxGas = 10_000_000;
  const byGas = nextChunk(many(3_000), ROOM, { ...limits, maxGas });
  assert.deepEqual([byGas[0]?.account, byGas.at(-1)?.account], [addressOf(0), addressOf(byGas.length - 1)]);
  assert.ok(gasOf(byGas) <= maxGas && gasOf([...byGas, ...byGas.slice(0, 1)]) > maxGas);
  const byBytes = nextChunk(many(3_000), ROOM, { ...limits, maxGas: 10 ** 9 });
  const { data } = settleCall(addressOf(9), 20_000, byBytes);
  // The transaction's own fields take less than 200 bytes.
  assert.ok((data.length - 2) / 2 + 200 <= limits.maxBytes);
  assert.ok((data.length - 2) / 2 + 69 + 512 > limits.maxBytes);
});

test("a chunk has at most 255 agents and days, and a record is never split", () => {
  const records = nextChunk(
    many(10, (index) => Array.from({ length: 64 }, (_, at) => part(64 * index + at))),
    ROOM,
    {
      ...limits,
      maxGas: 10 ** 9,
    },
  );
  assert.equal(records.length, 3);
  assert.doesNotThrow(() => encodeChunk(records));
  // The same agents on the same day count once.
  const shared = nextChunk(
    many(10, () => [part(1), part(1, 19_999)]),
    ROOM,
    limits,
  );
  assert.equal(shared.length, 10);
});

test("records of many agents that do not fit a chunk leave its room to those behind them", () => {
  const heavy = many(4, (index) => Array.from({ length: 64 }, (_, at) => part(64 * index + at)));
  const light = Array.from({ length: 100 }, (_, index) => payable(1_000 + index, 1_000));
  const records = nextChunk([...heavy, ...light], ROOM, limits);
  const expected = [...heavy.slice(0, 2), ...light].map(({ record }) => record);
  assert.deepEqual(records, expected);
  assert.ok(gasOf(records) <= limits.maxGas);
});

test("a chunk ends with the record that uses up the room of its day", () => {
  assert.equal(nextChunk(many(10), 2_500n, limits).length, 3);
  assert.equal(nextChunk(many(10), 2_000n, limits).length, 2);
  assert.deepEqual(nextChunk(many(10), 0n, limits), []);
  // Credit that covers a part of a statement takes that part of the room alone.
  const short = many(10).map(({ record }) => ({ record, payableNanoUsd: 100 }));
  assert.equal(nextChunk(short, 1_000n, limits).length, 10);
});

test("the estimated gas covers the contract's use, and exceeds it by at most half for many accounts", () => {
  const served = (count: number, agentOf: (index: number) => number) => many(count, (index) => [part(agentOf(index))]);
  const chunks: readonly [entry: string, payables: Payable[]][] = [
    ...[1, 10, 50, 100, 1_000, 1_800].map((count) => [`settle ${count} accounts`, many(count)] as [string, Payable[]]),
    ["settle 1 account served by an agent", served(1, () => 0)],
    ["settle 100 accounts, each served by a new agent", served(100, (index) => index)],
    ["settle 100 accounts, all served by one agent", served(100, () => 0)],
  ];
  for (const [entry, payables] of chunks) {
    const reckoned = gasOf(payables.map(({ record }) => record));
    const used = measuredGas("InferenceSettlement", entry);
    assert.ok(reckoned >= used, `${entry}: ${reckoned} reckoned, ${used} used`);
    if (payables.length >= 100) assert.ok(reckoned <= used * 1.5, `${entry}: ${reckoned} reckoned, ${used} used`);
  }
});
