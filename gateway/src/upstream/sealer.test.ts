import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { makeSealer } from "./sealer.ts";

const random = { bytes: (length: number) => new Uint8Array(randomBytes(length)) };
const secret = new Uint8Array(32).fill(7);
const sealer = makeSealer({ secret }, random);
const bytes = Buffer.from("a key of the provider's");

test("what is sealed opens as it was, under its name and secret alone", () => {
  for (const content of [bytes, Buffer.alloc(0), randomBytes(1 << 20)]) {
    const sealed = sealer.seal("vkey:0x1", content);
    assert.deepEqual(sealer.open("vkey:0x1", sealed), content);
    assert.equal(sealer.open("vkey:0x2", sealed), undefined);
    const other = makeSealer({ secret: new Uint8Array(32).fill(8) }, random);
    assert.equal(other.open("vkey:0x1", sealed), undefined);
    assert.deepEqual(makeSealer({ secret }, random).open("vkey:0x1", sealed), content);
  }
});

test("a record that an earlier version sealed opens", () => {
  const sealed = "BQUFBQUFBQUFBQUF10NqjUZgRScHFJSr5BytaCn3/EHRxbNuPIBAzj8buxx53QeTq2lg";
  assert.deepEqual(sealer.open("vkey:0x1", Buffer.from(sealed, "base64")), bytes);
});

test("what was altered, cut or never sealed does not open", () => {
  const sealed = sealer.seal("name", bytes);
  for (let index = 0; index < sealed.length; index++) {
    const altered = Buffer.from(sealed);
    altered[index] = (altered[index] ?? 0) ^ 1;
    assert.equal(sealer.open("name", altered), undefined, `byte ${index}`);
  }
  for (const length of [0, 5, 12, 20, sealed.length - 1]) {
    assert.equal(sealer.open("name", sealed.subarray(0, length)), undefined);
  }
});

test("the same text is sealed otherwise each time, and shows nothing of itself", () => {
  const [one, other] = [sealer.seal("name", bytes), sealer.seal("name", bytes)];
  assert.notDeepEqual(one, other);
  assert.ok(!one.toString("latin1").includes("provider"));
});
