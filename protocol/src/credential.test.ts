import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { encodeBase32 } from "./base32.ts";
import {
  type Address,
  credentialBody,
  credentialLabel,
  isAddress,
  lowerAddress,
  parseCredential,
} from "./credential.ts";

const kind = fc.constantFrom("ik" as const, "is" as const, "ia" as const);
const address = fc.stringMatching(/^[0-9a-f]{40}$/).map((text) => `0x${text}` as Address);
const secret = fc.uint8Array({ minLength: 20, maxLength: 20 });
const checksum = fc.uint8Array({ minLength: 10, maxLength: 10 }).map(encodeBase32);
const example = `${credentialBody("ik", `0x${"ab".repeat(20)}`, new Uint8Array(20))}${encodeBase32(new Uint8Array(10))}`;

test("a credential parses to what it was made of", () => {
  fc.assert(
    fc.property(kind, address, secret, checksum, (kind, subject, secret, checksum) => {
      const body = credentialBody(kind, subject, secret);
      assert.deepEqual(parseCredential(`${body}${checksum}`), { kind, subject, body, checksum });
    }),
  );
});

test("an address in capitals makes the same credential", () => {
  fc.assert(
    fc.property(address, secret, (subject, secret) => {
      const capitals = `0x${subject.slice(2).toUpperCase()}` as Address;
      assert.equal(credentialBody("ik", capitals, secret), credentialBody("ik", subject, secret));
      assert.equal(lowerAddress(capitals), subject);
    }),
  );
});

test("no change of one character parses to the same credential", () => {
  const characters = [..."0123456789abcdefghijklmnopqrstuvwxyzABCXYZ_-+/= \n\u0130"];
  const original = JSON.stringify(parseCredential(example));
  for (let index = 0; index < example.length; index++) {
    for (const character of characters) {
      if (character === example[index]) continue;
      const changed = example.slice(0, index) + character + example.slice(index + 1);
      const parsed = parseCredential(changed);
      assert.notEqual(JSON.stringify(parsed), original, changed);
      if (parsed !== undefined) assert.equal(`${parsed.body}${parsed.checksum}`, changed);
      if (!/[0-9a-hjkmnp-tv-z_]/.test(character)) assert.equal(parsed, undefined, changed);
    }
  }
});

test("no character too many or too few parses", () => {
  for (let index = 0; index <= example.length; index++) {
    assert.equal(
      parseCredential(example.slice(0, index) + example.slice(index + 1)) === undefined,
      index < example.length,
    );
    for (const character of ["0", "_", " ", "\n"]) {
      assert.equal(parseCredential(example.slice(0, index) + character + example.slice(index)), undefined);
    }
  }
  for (const text of ["", "ik_", `Bearer ${example}`, example.toUpperCase(), "0".repeat(10_000)]) {
    assert.equal(parseCredential(text), undefined);
  }
});

test("a label shows the kind and eight letters, and none of the checksum but its end", () => {
  assert.equal(credentialLabel(example), `${example.slice(0, 7)}...${example.slice(-4)}`);
});

test("an address is 0x and forty digits", () => {
  assert.ok(isAddress(`0x${"aB".repeat(20)}`));
  for (const text of [
    "",
    `0X${"a".repeat(40)}`,
    `0x${"a".repeat(39)}`,
    `0x${"a".repeat(41)}`,
    `0x${"g".repeat(40)}`,
    `0x${"a".repeat(40)}\n`,
  ]) {
    assert.equal(isAddress(text), false, text);
  }
});
