import assert from "node:assert/strict";
import { test } from "node:test";
import { runs } from "@inference/protocol/testing/seed";
import fc from "fast-check";
import { makeSecretFilter } from "./secret-writings.ts";

const SECRET = "VENICE_key-4f/Zq+81LmQ0x7Tr5Yw3Nb6Vc1Hj4GpX";
const OTHER = "sk-admin-9a8b7c6d5e4f3a2b1c0d";
const filter = makeSecretFilter([SECRET, "", SECRET, OTHER]);

const code = (character: string, digits: number): string => character.charCodeAt(0).toString(16).padStart(digits, "0");

/** Each of them writes one character. */
const escapes: Record<string, (character: string) => string> = {
  url: (c) => `%${code(c, 2)}`,
  "url in capitals": (c) => `%${code(c, 2).toUpperCase()}`,
  "url twice": (c) => `%25${code(c, 2)}`,
  json: (c) => `\\u${code(c, 4)}`,
  "json in json": (c) => `\\\\u${code(c, 4)}`,
  "json in json in json": (c) => `\\\\\\\\u${code(c, 4).toUpperCase()}`,
  "a script's": (c) => `\\x${code(c, 2)}`,
  "a script's in braces": (c) => `\\u{${code(c, 2)}}`,
  html: (c) => `&#${c.charCodeAt(0)};`,
  "html in hexadecimal": (c) => `&#x${code(c, 2)};`,
  "html in json": (c) => `\\u0026#x${code(c, 2)};`,
  "html twice": (c) => `&amp;#${c.charCodeAt(0)};`,
  none: (c) => c,
  "a slash in json": (c) => (c === "/" ? "\\/" : c),
};

const whole: Record<string, (secret: string) => string> = {
  "in capitals": (secret) => secret.toUpperCase(),
  "in small letters": (secret) => secret.toLowerCase(),
  hexadecimal: (secret) => Buffer.from(secret).toString("hex"),
  "hexadecimal in capitals": (secret) => Buffer.from(secret).toString("hex").toUpperCase(),
  "as a component of a url": (secret) => encodeURIComponent(secret),
  "as a string of json": (secret) => JSON.stringify(secret),
};
for (const [name, written] of Object.entries(escapes)) whole[name] = (secret) => [...secret].map(written).join("");
for (const before of ["", "B", "Be", "Bearer "]) {
  for (const encoding of ["base64", "base64url"] as const) {
    whole[`${encoding} after ${before.length}`] = (secret) => Buffer.from(`${before}${secret} and`).toString(encoding);
  }
}

for (const [name, write] of Object.entries(whole)) {
  test(`a key is found and removed: ${name}`, () => {
    for (const secret of [SECRET, OTHER]) {
      for (const [before, after] of [
        ["", ""],
        ["it is ", " indeed"],
        ['{"é":"\\n', '"}'],
        ["100% & \\u00e9\\n", "\\n"],
      ] as const) {
        const text = `${before}${write(secret)}${after}`;
        assert.ok(filter.isIn(text), text);
        assert.ok(filter.mayBeIn(Buffer.from(text)), text);
        const clean = filter.remove(text);
        assert.ok(clean.includes("[removed]"), clean);
        assert.ok(!filter.isIn(clean), clean);
        assert.ok(clean.startsWith(before) && clean.endsWith(after), clean);
        // The first and last characters of base64 depend on the text beside the key.
        if (!name.startsWith("base64")) assert.ok(clean.length < before.length + after.length + 14, clean);
      }
    }
  });
}

test("any mixture of escapes is found, and removed from JSON as JSON", () => {
  const anyWriting = fc
    .array(fc.constantFrom(...Object.values(escapes)), { minLength: SECRET.length, maxLength: SECRET.length })
    .map((chosen) => [...SECRET].map((character, at) => chosen[at]?.(character)).join(""));
  const around = fc.string({ unit: fc.constantFrom(..."ab%&\\#u0é/;"), maxLength: 40 });
  fc.assert(
    fc.property(anyWriting, around, around, (writing, before, after) => {
      const text = `${before} ${writing} ${after}`;
      assert.ok(filter.isIn(text));
      assert.ok(!filter.isIn(filter.remove(text)));
      const json = JSON.stringify({ [text]: [text, { text }] });
      assert.ok(filter.isIn(json));
      const clean = filter.remove(json);
      assert.ok(!filter.isIn(clean));
      if (!/\\{9}/.test(json)) assert.doesNotThrow(() => JSON.parse(clean), clean);
    }),
    { numRuns: runs(666) },
  );
});

test("what holds no key is left as it is", () => {
  const anyText = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string({ unit: fc.constantFrom(..."%2&#u0x\\;sk-adm9ab"), maxLength: 200 }),
  );
  fc.assert(
    fc.property(anyText, fc.nat(SECRET.length - 1), (text, cut) => {
      const part = SECRET.slice(0, cut) + SECRET.slice(cut + 1);
      // With a space between, the last letter of the text cannot complete the key.
      for (const each of [text, `${text} ${part}`]) {
        assert.equal(filter.isIn(each), false);
        assert.equal(filter.remove(each), each);
      }
    }),
    { numRuns: runs(666) },
  );
});

test("a key of fewer than 8 characters is ordinary text, and no keys at all are none", () => {
  for (const secrets of [[], [""], ["none", "key-xyz"]]) {
    const nothing = makeSecretFilter(secrets);
    assert.equal(nothing.isIn("none key-xyz"), false);
    assert.equal(nothing.remove("none key-xyz"), "none key-xyz");
  }
});

test("a key may be in bytes at any place, and is not in numbers, images and ordinary text", () => {
  for (let at = 0; at < 3 * OTHER.length; at++) {
    assert.ok(filter.mayBeIn(Buffer.from(`${"x".repeat(at)}${OTHER}`)), `${at}`);
    assert.ok(!filter.mayBeIn(Buffer.from(`${"x".repeat(at)}${OTHER.slice(0, 12)}`)), `${at}`);
  }
  const numbers = JSON.stringify(Array.from({ length: 10_000 }, (_, index) => Math.sin(index)));
  const image = Buffer.from(numbers).toString("base64");
  const text = 'The quick brown fox jumps over the lazy dog, and says \\"hello\\".\\n'.repeat(1_000);
  for (const each of [numbers, image, text]) assert.ok(!filter.mayBeIn(Buffer.from(each)), each.slice(0, 40));
});
