import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decodeBase32, encodeBase32 } from "./base32.ts";

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";

test("bytes come back as they were", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const text = encodeBase32(bytes);
      assert.equal(text.length, Math.ceil((bytes.length * 8) / 5));
      assert.deepEqual(decodeBase32(text), bytes);
    }),
  );
});

test("a text that decodes is the one text of its bytes", () => {
  const text = fc.array(fc.constantFrom(...alphabet), { maxLength: 20 }).map((letters) => letters.join(""));
  fc.assert(
    fc.property(text, (letters) => {
      const bytes = decodeBase32(letters);
      if (bytes !== undefined) assert.equal(encodeBase32(bytes), letters);
    }),
  );
  const short = [...alphabet].filter((letter) => decodeBase32(`0${letter}`) !== undefined);
  assert.deepEqual(short, ["0", "4", "8", "c", "g", "m", "r", "w"], "of the last letter, only bits that count");
});

test("ambiguous, foreign and capital letters are refused", () => {
  for (const letter of ["i", "l", "o", "u", "A", "-", "=", " ", "\n", "é", "\u0660", "\u0130"]) {
    assert.equal(decodeBase32(`0000000${letter}`), undefined, JSON.stringify(letter));
    assert.equal(decodeBase32(`${letter}0000000`), undefined, JSON.stringify(letter));
  }
});

test("a length that no bytes have is refused", () => {
  const lengths = [1, 2, 3, 4, 5, 6, 7, 8].filter((length) => decodeBase32("0".repeat(length)) !== undefined);
  assert.deepEqual(lengths, [2, 4, 5, 7, 8]);
});

test("a known vector", () => {
  assert.equal(encodeBase32(new Uint8Array([0, 255, 16, 128])), "03zh100");
  assert.equal(encodeBase32(new Uint8Array(0)), "");
});
