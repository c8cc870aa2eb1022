import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "@inference/protocol/errors";
import { type BodyShare, makeBodyMemory, type Sender } from "./body-memory.ts";

/** An eighth is 80, and an eighth of that is 10. */
const LIMITS = { all: 640, small: 8 };
const payer = (name: string): Sender => ({ name, hasCredential: true });
const address = (name: string): Sender => ({ name, hasCredential: false });

function open() {
  const bodies = makeBodyMemory(LIMITS);
  return {
    bodies,
    /** Undefined if it does not fit. */
    take(bytes: number, sender: Sender, body = bodies.open()): BodyShare | undefined {
      try {
        body.take(bytes, sender);
        return body;
      } catch (error) {
        assert.ok(error instanceof GatewayError && error.detail.code === "overloaded");
        assert.equal(error.detail.retryAfterS, 2);
        return undefined;
      }
    },
  };
}

function taken(body: BodyShare | undefined): BodyShare {
  assert.ok(body !== undefined, "it does not fit");
  return body;
}

test("one sender takes an eighth, and leaves the others theirs", () => {
  const { take } = open();
  const first = taken(take(50, payer("a")));
  taken(take(30, payer("a")));
  assert.equal(take(1, payer("a")), undefined);
  assert.equal(take(1, payer("a"), first), undefined);
  taken(take(80, payer("b")));
  first.release();
  taken(take(50, payer("a")));
  assert.equal(take(1, payer("a")), undefined);
});

test("a body counts as the sender's that it is known to be of by now", () => {
  const { take } = open();
  const body = taken(take(60, payer("unknown")));
  taken(take(20, payer("a"), body));
  taken(take(80, payer("unknown")));
  assert.equal(take(1, payer("a")), undefined);
  const growing = taken(take(8, payer("another")));
  assert.equal(take(1, payer("a"), growing), undefined);
  assert.equal(take(73, payer("another")), undefined);
  body.release();
  taken(take(72, payer("a"), growing));
  assert.equal(take(1, payer("a")), undefined);
  taken(take(80, payer("another")));
});

test("what is refused takes nothing, and what is given back is given back once", () => {
  const { take } = open();
  const body = taken(take(80, payer("a")));
  for (let left = 10; left > 0; left--) assert.equal(take(9, payer("a"), body), undefined);
  for (let left = 10; left > 0; left--) body.release();
  taken(take(80, payer("a")));
  assert.equal(take(1, payer("a")), undefined);
});

test("large bodies of any number of senders leave an eighth for small ones, and all together what there is", () => {
  const { take } = open();
  for (let sender = 1; sender <= 7; sender++) taken(take(80, payer(String(sender))));
  assert.equal(take(9, payer("large")), undefined);
  for (let sender = 1; sender <= 10; sender++) taken(take(8, payer(`small ${sender}`)));
  assert.equal(take(1, payer("one more")), undefined);
});

test("a body that grows large byte by byte counts as one from its first byte on", () => {
  const { take } = open();
  for (let sender = 1; sender <= 6; sender++) taken(take(80, payer(String(sender))));
  taken(take(75, payer("7")));
  const growing = taken(take(5, payer("growing")));
  taken(take(3, payer("growing"), growing));
  assert.equal(take(1, payer("growing"), growing), undefined);
  const { take: takeElsewhere } = open();
  const alone = taken(takeElsewhere(5, payer("a")));
  taken(takeElsewhere(75, payer("a"), alone));
});

test("who comes without a credential has an eighth with all others, and an eighth of that alone", () => {
  const { take } = open();
  const first = taken(take(10, address("1")));
  assert.equal(take(1, address("1")), undefined);
  for (let client = 2; client <= 8; client++) taken(take(10, address(String(client))));
  assert.equal(take(1, address("9")), undefined);
  taken(take(80, payer("a")));
  first.release();
  taken(take(10, address("9")));
});

test("what is left of a body makes room for others as it shrinks", () => {
  const { take } = open();
  const body = taken(take(80, payer("a")));
  body.keep(20);
  taken(take(60, payer("a")));
  assert.equal(take(1, payer("a")), undefined);
});

test("a body that takes more once it was read keeps it, and others out until it is given back", () => {
  const { take } = open();
  const body = taken(take(80, payer("a")));
  body.keep(160);
  for (let sender = 1; sender <= 5; sender++) taken(take(80, payer(String(sender))));
  assert.equal(take(9, payer("large")), undefined);
  for (let sender = 1; sender <= 10; sender++) taken(take(8, payer(`small ${sender}`)));
  assert.equal(take(1, payer("one more")), undefined);
  body.release();
  taken(take(80, payer("a")));
});

test("it is scarce once half is taken, until less is", () => {
  const { bodies, take } = open();
  for (let sender = 1; sender <= 3; sender++) taken(take(80, payer(String(sender))));
  const last = taken(take(79, payer("4")));
  assert.equal(bodies.isScarce(), false);
  taken(take(1, payer("4"), last));
  assert.equal(bodies.isScarce(), true);
  last.release();
  assert.equal(bodies.isScarce(), false);
});

test("a body of nobody's is given back as nothing", () => {
  const { bodies, take } = open();
  bodies.open().release();
  for (let sender = 1; sender <= 7; sender++) taken(take(80, payer(String(sender))));
  for (let sender = 1; sender <= 10; sender++) taken(take(8, payer(`small ${sender}`)));
  assert.equal(take(1, payer("one more")), undefined);
});
