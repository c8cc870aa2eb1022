import assert from "node:assert/strict";
import { test } from "node:test";
import { countTokens, startPosition, tokensText, VOCABULARY } from "./tokens.ts";

test("every token is one to six bytes of valid text, and some are multi-byte", () => {
  for (const token of VOCABULARY) {
    const bytes = Buffer.byteLength(token);
    assert.ok(bytes >= 1 && bytes <= 6, JSON.stringify(token));
    assert.equal(Buffer.from(token).toString(), token);
  }
  assert.ok(VOCABULARY.some((token) => Buffer.byteLength(token) > token.length));
  assert.equal(new Set(VOCABULARY).size, VOCABULARY.length);
});

test("a text never counts more tokens than it has bytes", () => {
  for (const text of ["", "a", "abcd", "abcde", "\u{1f642}", "\u65e5\u672c\u8a9e".repeat(99)]) {
    assert.ok(countTokens(text) <= Buffer.byteLength(text));
    assert.equal(countTokens(text), Math.ceil(Buffer.byteLength(text) / 4));
  }
});

test("an answer walks through the whole vocabulary, the same way each time", () => {
  const start = startPosition(7, "hello");
  assert.equal(start, startPosition(7, "hello"));
  const text = tokensText(start, 0, 0, VOCABULARY.length);
  for (const token of VOCABULARY) assert.ok(text.includes(token));
  assert.notEqual(tokensText(start, 0, 0, 20), tokensText(start, 1, 0, 20));
});
