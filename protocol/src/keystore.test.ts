import assert from "node:assert/strict";
import { test } from "node:test";
import * as Keystore from "ox/Keystore";
import { isPrivateKey, openKeystore } from "./keystore.ts";

const key = `0x${"a5".repeat(32)}` as const;
const keystore = (secret: `0x${string}`): string => {
  const [derived, options] = Keystore.scrypt({ password: "open sesame", n: 1_024 });
  return JSON.stringify(Keystore.encrypt(secret, derived, options));
};

test("a keystore is opened by its password and by no other", async () => {
  const text = keystore(key);
  assert.equal(await openKeystore(text, "open sesame"), key);
  assert.equal(await openKeystore(text, "open sesame "), undefined);
});

test("the example of the format's specification is opened", async () => {
  const key = "0x7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d";
  assert.equal(await openKeystore(JSON.stringify(example), "testpassword"), key);
});

test("a text that is no keystore, or has no key of the curve, is refused", async () => {
  for (const text of ["", "{}", "null", "[]", keystore(`0x${"ff".repeat(32)}`), keystore("0xa5")]) {
    assert.equal(await openKeystore(text, "open sesame"), undefined, text);
  }
  assert.deepEqual([key, `${key}0`, "a5".repeat(32), `0x${"00".repeat(32)}`].map(isPrivateKey), [
    ...[true, false, false, false],
  ]);
});

/** https://ethereum.org/developers/docs/data-structures-and-encoding/web3-secret-storage */
const example = {
  crypto: {
    cipher: "aes-128-ctr",
    cipherparams: { iv: "6087dab2f9fdbbfaddc31a909735c1e6" },
    ciphertext: "5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46",
    kdf: "pbkdf2",
    kdfparams: {
      c: 262_144,
      dklen: 32,
      prf: "hmac-sha256",
      salt: "ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd",
    },
    mac: "517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2",
  },
  id: "3198bc9c-6672-5ab3-d995-4942343ae5b6",
  version: 3,
};
