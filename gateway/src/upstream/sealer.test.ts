import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { makeSealer } from "./sealer.ts";

const random = { bytes: (length: number) => new Uint8Array(randomBytes(length)) };
const secret = new Uint8Array(32).fill(7);
const sealer = makeSealer(secret, random);
const bytes = new TextEncoder().encode("a key of the provider's");

test("what is sealed opens as it was, under its name and secret alone", async () => {
  for (const content of [bytes, new Uint8Array(), new Uint8Array(randomBytes(1 << 20))]) {
    const sealed = await sealer.seal("vkey:0x1", content);
    assert.deepEqual(await sealer.open("vkey:0x1", sealed), content);
    assert.equal(await sealer.open("vkey:0x2", sealed), undefined);
    const other = makeSealer(new Uint8Array(32).fill(8), random);
    assert.equal(await other.open("vkey:0x1", sealed), undefined);
    assert.deepEqual(await makeSealer(secret, random).open("vkey:0x1", sealed), content);
  }
});

test("what was altered, cut or never sealed does not open", async () => {
  const sealed = Buffer.from(await sealer.seal("name", bytes), "base64");
  for (let index = 0; index < sealed.length; index++) {
    const altered = Buffer.from(sealed);
    altered[index] = (altered[index] ?? 0) ^ 1;
    assert.equal(await sealer.open("name", altered.toString("base64")), undefined, `byte ${index}`);
  }
  for (const length of [0, 5, 12, 20, sealed.length - 1]) {
    assert.equal(await sealer.open("name", sealed.subarray(0, length).toString("base64")), undefined);
  }
  assert.equal(await sealer.open("name", "no base 64 at all!"), undefined);
});

test("the same text is sealed otherwise each time, and shows nothing of itself", async () => {
  const [one, other] = [await sealer.seal("name", bytes), await sealer.seal("name", bytes)];
  assert.notEqual(one, other);
  assert.ok(!Buffer.from(one, "base64").toString("latin1").includes("provider"));
});
