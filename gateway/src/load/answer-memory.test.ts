import assert from "node:assert/strict";
import { test } from "node:test";
import { accountPartition } from "@inference/ledger/partition";
import { makeAnswerMemory } from "./answer-memory.ts";

const alice = accountPartition(`0x${"a".repeat(40)}`);
const bob = accountPartition(`0x${"b".repeat(40)}`);
const code = (expected: string) => (error: { detail?: { code?: string } }) => error.detail?.code === expected;

test("an account whose unread answers take an eighth of the memory is not admitted until they are read", () => {
  const held = makeAnswerMemory(800);
  const answer = held.open(alice);
  assert.equal(answer.set(99), true);
  held.admit(alice);
  assert.equal(answer.set(101), false);
  assert.throws(() => held.admit(alice), code("rate_limited"));
  held.admit(bob);
  answer.set(0);
  held.admit(alice);
  assert.equal(held.bytes(), 0);
});

test("answers of one account count together", () => {
  const held = makeAnswerMemory(800);
  const [one, two] = [held.open(alice), held.open(alice)];
  assert.equal(one.set(60), true);
  assert.equal(two.set(60), false);
  assert.equal(held.bytes(), 120);
  one.set(0);
  assert.equal(two.set(60), true);
});

test("an answer is released when it has left, and at once where nobody tells when", () => {
  const held = makeAnswerMemory(800);
  const [told, untold] = [held.open(alice), held.open(bob)];
  told.set(60);
  untold.set(60);
  let sent = (): void => undefined;
  told.releaseWhen((callback) => {
    sent = callback;
  });
  untold.releaseWhen(undefined);
  assert.equal(held.bytes(), 60);
  sent();
  assert.equal(held.bytes(), 0);
});

test("while all memory is taken, an account with less than an equal part is served, and no answer is gathered", () => {
  const held = makeAnswerMemory(80);
  const answers = Array.from({ length: 9 }, (_, index) => held.open(accountPartition(`0x${`${index}`.repeat(40)}`)));
  for (const answer of answers) answer.set(9);
  assert.throws(() => held.admit(accountPartition(`0x${"1".repeat(40)}`)), code("overloaded"));
  held.admit(alice);
  const answer = held.open(alice);
  assert.equal(answer.set(1), false);
  held.admit(alice);
  answer.set(8);
  assert.throws(() => held.admit(alice), code("overloaded"), "80 bytes for 10 accounts are 8 bytes each");
});
