import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";
import fc from "fast-check";
import { type Measured, measureCorpus, ratioTable, tokenizerTable } from "../../test/metering/token-ratios.ts";
import { tokenizers } from "../../test/metering/tokenizers.ts";
import { COMMON_WORDS } from "./common-words.ts";
import { halfTokens, tokensOf } from "./token-estimate.ts";

let measured: Measured[] = [];
before(() => {
  measured = measureCorpus();
});

test("on no text of the corpus is the estimate below what a tokenizer counts", () => {
  assert.ok(measured.length > 3_000, `only ${measured.length} were measured`);
  for (const { kind, tokenizer, text, tokens, estimate } of measured) {
    assert.ok(estimate >= tokens, `${kind}, ${tokenizer}: ${estimate} for ${tokens} of ${text.slice(0, 80)}`);
  }
});

test("nor is it on random texts of other seeds", () => {
  const letters = fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz");
  const anyText = fc.oneof(
    fc.string({ maxLength: 80 }),
    fc.string({ unit: "grapheme", maxLength: 40 }),
    fc.string({ unit: "binary", maxLength: 40 }),
    fc.string({ unit: letters, maxLength: 80 }),
    fc
      .array(fc.string({ unit: letters, minLength: 1, maxLength: 9 }), { maxLength: 30 })
      .map((words) => words.join(" ")),
    fc
      .array(fc.constantFrom(...COMMON_WORDS, " ", "\n", "-", "(", "7", "é"), { maxLength: 40 })
      .map((all) => all.join("")),
  );
  // Claude's writes some characters anew as up to 18 others, which no count of bytes bounds.
  const { Claude: _, ...others } = tokenizers;
  fc.assert(
    fc.property(anyText, (text) => {
      const estimate = tokensOf(halfTokens(text));
      for (const [name, count] of Object.entries(others)) assert.ok(estimate >= count(text), `${name}: ${estimate}`);
    }),
    { numRuns: 1_000, seed: 13 },
  );
});

test("a text that is made to be counted short is so by less than a third", () => {
  const units = ["Thread'", "define'", "America.", " xto", " xts", " xpv", " xta"];
  for (const unit of units) {
    const text = unit.repeat(100);
    for (const [name, count] of Object.entries(tokenizers)) {
      assert.ok(tokensOf(halfTokens(text)) >= 0.67 * count(text), `${name}: ${unit}`);
    }
  }
});

test("the estimate is at most the bytes, and what is added to each answer", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      assert.ok(halfTokens(text) <= 2 * Buffer.byteLength(text));
    }),
  );
  for (const { text, estimate } of measured) {
    const bytes = Buffer.byteLength(text);
    assert.ok(estimate <= Math.ceil(bytes + bytes / 64) + 4, text);
  }
});

test("each common word is one token in every tokenizer, with a space before it and without", () => {
  const words = [...COMMON_WORDS];
  assert.ok(words.length > 2_000);
  for (const [name, count] of Object.entries(tokenizers)) {
    assert.ok(count(` ${words.join(" ")}`) <= words.length + 1, name);
    // With a token for each line end.
    assert.ok(count(words.join("\n")) <= 2 * words.length, name);
  }
});

test("the figures in docs/metering.md are those of this estimate", () => {
  const page = readFileSync(new URL("../../../docs/metering.md", import.meta.url), "utf8");
  const how = "write them anew with: node gateway/test/metering/token-ratios.ts";
  assert.ok(page.includes(tokenizerTable(measured)), how);
  assert.ok(page.includes(ratioTable(measured)), how);
});
