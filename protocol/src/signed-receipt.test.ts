import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";
import { isSignedBy, readSignedReceipt, type SignedReceipt, signingInput, withSignature } from "./signed-receipt.ts";

const receipt: SignedReceipt = {
  ...{ iss: "https://gateway.example", sub: `0x${"a".repeat(40)}`, jti: `req_${"0".repeat(26)}`, iat: 1_800_000_000 },
  ...{ chain_id: 8_453, settlement: `0x${"5".repeat(40)}`, cost_nano_usd: 1_234, model: "alder-4b é" },
  ...{ snapshot: "a".repeat(32), day: 20_833, served_by: "protocol", offer: null },
};
const pair = generateKeyPairSync("ed25519");
const publicKey = Buffer.from(pair.publicKey.export({ format: "jwk" }).x ?? "", "base64url");
const text = withSignature(signingInput(receipt), sign(null, Buffer.from(signingInput(receipt)), pair.privateKey));

test("the example of RFC 8037 is signed by its key, and by no other", async () => {
  const theirs = Buffer.from("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "base64url");
  const signature = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
  const example = `eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.${signature}`;
  assert.equal(await isSignedBy(theirs, example), true);
  assert.equal(await isSignedBy(publicKey, example), false);
});

test("a receipt is read as Node's own crypto signed it", async () => {
  assert.equal(await isSignedBy(publicKey, text), true);
  assert.deepEqual(readSignedReceipt(text), receipt);
});

test("any changed character of a signed receipt is noticed", async () => {
  const last = text.length - 1;
  for (let at = 0; at < last; at += 7) {
    const changed = text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1);
    assert.equal(await isSignedBy(publicKey, changed), false, `character ${at}`);
  }
  for (const other of ["", "a", "a.b", "a.b.c", `${text}.`, `${text}=`, text.slice(0, -1), ` ${text}`]) {
    assert.equal(await isSignedBy(publicKey, other), false, other);
  }
  assert.equal(await isSignedBy(publicKey.subarray(1), text), false);
});

test("a payload that is no receipt is not read", () => {
  const of = (payload: unknown) => `h.${Buffer.from(JSON.stringify(payload)).toString("base64url")}.s`;
  assert.deepEqual(readSignedReceipt(of(receipt)), receipt);
  for (const payload of [
    null,
    [],
    {},
    { ...receipt, cost_nano_usd: -1 },
    { ...receipt, jti: undefined },
    { ...receipt, sub: 1 },
  ]) {
    assert.equal(readSignedReceipt(of(payload)), undefined);
  }
  assert.equal(readSignedReceipt("no receipt"), undefined);
});
