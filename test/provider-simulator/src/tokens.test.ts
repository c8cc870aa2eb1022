import assert from "node:assert/strict";
import { test } from "node:test";
import { countTokens, startPosition, tokenAt, tokensText, VOCABULARY } from "./tokens.ts";

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

test("noise walks through the whole vocabulary, the same way each time", () => {
  const start = startPosition(7, "hello");
  assert.equal(start, startPosition(7, "hello"));
  const place = { text: "noise", start, choice: 0 } as const;
  const text = tokensText(place, 0, VOCABULARY.length);
  for (const token of VOCABULARY) assert.ok(text.includes(token));
  assert.notEqual(tokensText(place, 0, 20), tokensText({ ...place, choice: 1 }, 0, 20));
});

test("english reads as sentences, in tokens of one to six bytes, another for each choice, and never ends", () => {
  for (let start = 0; start < 200; start++) {
    const place = { text: "english", start, choice: 0 } as const;
    const tokens = Array.from({ length: 500 }, (_, index) => tokenAt(place, index));
    for (const token of tokens) assert.match(token, /^[\x20-\x7e]{1,6}$/);
    const text = tokensText(place, 0, 500);
    assert.equal(text, tokens.join(""));
    assert.match(text, /^([A-Z][a-z, ]+\. )+[A-Z]?[a-z, ]*\.?$/);
    assert.notEqual(text, tokensText({ ...place, choice: 1 }, 0, 500));
    assert.equal(tokensText(place, 0, 20) + tokensText(place, 20, 500), text);
  }
});
