import assert from "node:assert/strict";
import { test } from "node:test";
import { runs } from "@inference/protocol/testing/seed";
import fc from "fast-check";
import { makeSecretFilter } from "./secret-writings.ts";

const SECRET = "VENICE_key-4f/Zq+81LmQ0x7Tr5Yw3Nb6Vc1Hj4GpX";
const OTHER = "sk-admin-9a8b7c6d5e4f3a2b1c0d";
const filter = makeSecretFilter([SECRET, "", SECRET, OTHER]);

const code = (character: string): string => character.charCodeAt(0).toString(16).padStart(2, "0");

/** Each of them writes one character. */
const escapes: Record<string, (character: string) => string> = {
  url: (c) => `%${code(c)}`,
  "url in capitals": (c) => `%${code(c).toUpperCase()}`,
  json: (c) => `\\u00${code(c)}`,
  "json in json": (c) => `\\\\u00${code(c).toUpperCase()}`,
  "json in json in json": (c) => `\\\\\\\\u00${code(c)}`,
  none: (c) => c,
  "a slash in json": (c) => (c === "/" ? "\\/" : c),
};

for (const [name, write] of Object.entries({ ...escapes, "a component of a url": encodeURIComponent })) {
  test(`a key is found and removed: ${name}`, () => {
    for (const secret of [SECRET, OTHER]) {
      for (const [before, after] of [
        ["", ""],
        ["it is ", " indeed"],
        ['{"é":"\\n', '"}'],
        ["100% & \\u00e9\\n", "\\n"],
      ] as const) {
        const text = `${before}${[...secret].map(write).join("")}${after}`;
        assert.ok(filter.isIn(text), text);
        assert.ok(filter.mayBeIn(Buffer.from(text)), text);
        assert.equal(filter.remove(text), `${before}[removed]${after}`);
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
      assert.ok(filter.mayBeIn(Buffer.from(json)));
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

test("bytes of numbers, images and ordinary text are passed without a search for escapes", () => {
  const numbers = JSON.stringify(Array.from({ length: 1_000 }, (_, index) => Math.sin(index)));
  const image = Buffer.from(numbers).toString("base64");
  const text = 'The quick brown fox & the lazy dog say \\"hello\\".\\n'.repeat(100);
  for (const each of [numbers, image, text]) assert.ok(!filter.mayBeIn(Buffer.from(each)), each.slice(0, 40));
});
