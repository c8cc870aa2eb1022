import assert from "node:assert/strict";
import { test } from "node:test";
import { makeRequestId } from "@inference/protocol/id";
import { openWrittenIds } from "./written-ids.ts";

const NOON = Date.UTC(2026, 10, 21, 12);
/** A small generator, so that a failure can be repeated. */
function makeRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
const random = makeRandom(7);
const idAt = (at: number): string =>
  makeRequestId(
    at,
    Uint8Array.from({ length: 10 }, () => random() * 256),
  );
const partitions = ["ceiling", `account:0x${"a".repeat(40)}`, "journal:2026-11-21"];

test("what was written is never said to be absent, in whatever order and over whatever time it came", () => {
  const ids = openWrittenIds("");
  const written: [string, number, string][] = [];
  for (let index = 0; index < 50_000; index++) {
    // Two minutes of requests that end when they do, with a clock that jumps an hour now and then.
    const jump = random() < 0.001 ? (random() - 0.5) * 7_200_000 : 0;
    const at = Math.floor(NOON + index * 3 + jump - random() * 20_000);
    const row: [string, number, string] = [partitions[index % 3] ?? "", index % 2, idAt(at)];
    ids.add(...row);
    written.push(row);
    const [partition, table, id] = written[Math.floor(random() * written.length)] ?? row;
    assert.ok(ids.mayHave(partition, table, id), id);
  }
  for (const row of written) assert.ok(ids.mayHave(...row));
});

test("a new id is nearly never said to be there, though as many came as in eight seconds of 20,000 requests each", () => {
  const ids = openWrittenIds("");
  for (let index = 0; index < 640_000; index++) ids.add("ceiling", 0, idAt(NOON + (index % 8_000)));
  let maybe = 0;
  for (let index = 0; index < 10_000; index++) if (ids.mayHave("ceiling", 0, idAt(NOON + (index % 8_000)))) maybe += 1;
  assert.ok(maybe < 1_000, `${maybe} of 10,000`);
});

test("who asks for ids of times to come, ever later ones, takes nothing from the ids of now", () => {
  const ids = openWrittenIds("");
  for (let hour = 1; hour < 50; hour++) assert.ok(!ids.mayHave("ceiling", 0, idAt(NOON + hour * 3_600_000)));
  assert.ok(!ids.mayHave("ceiling", 0, idAt(NOON)), "it is new, and nobody has to look");
  const id = idAt(NOON);
  ids.add("ceiling", 0, id);
  assert.ok(ids.mayHave("ceiling", 0, id));
});

test("one id in two partitions or two tables is two rows", () => {
  const ids = openWrittenIds("");
  const id = idAt(NOON);
  ids.add("ceiling", 0, id);
  assert.ok(ids.mayHave("ceiling", 0, id));
  assert.ok(!ids.mayHave(partitions[1] ?? "", 0, id));
  assert.ok(!ids.mayHave("ceiling", 1, id));
});

test("nothing is said of the time up to the newest id that an earlier process wrote, nor of ids of another form", () => {
  const ids = openWrittenIds(idAt(NOON));
  assert.ok(ids.mayHave("ceiling", 0, idAt(NOON)));
  assert.ok(ids.mayHave("ceiling", 0, idAt(NOON - 3_600_000)));
  assert.ok(!ids.mayHave("ceiling", 0, idAt(NOON + 60_000)));
  assert.ok(openWrittenIds("").mayHave("ceiling", 0, "r1"));
});
