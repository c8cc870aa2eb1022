import assert from "node:assert/strict";
import { test } from "node:test";
import { makeSecretFilter } from "../../upstream/secret-writings.ts";
import { makeSecretRemover } from "./secret-remover.ts";

const KEY = "upstream-key-0123456789";
const secrets = makeSecretFilter([KEY]);
const LONG = "1.25,".repeat(2_000);

function removed(parts: readonly string[]): string {
  const remover = makeSecretRemover(secrets);
  const passed = parts.map((part) => Buffer.from(remover.push(Buffer.from(part))).toString());
  return passed.join("") + Buffer.from(remover.end()).toString();
}

test("a key is removed wherever large chunks are cut, between small ones too", () => {
  const text = LONG + KEY + LONG;
  for (let cut = LONG.length - 3; cut <= LONG.length + KEY.length + 3; cut++) {
    for (const width of [0, 1, 5, 30]) {
      const parts = [LONG, text.slice(0, cut), text.slice(cut, cut + width), text.slice(cut + width), LONG];
      assert.equal(removed(parts), `${LONG}${LONG}[removed]${LONG}${LONG}`, `${cut}, ${width}`);
    }
  }
});

test("bytes without a key pass as they are", () => {
  for (const parts of [[], [""], ["a", "b"], [LONG, "x", LONG], [LONG, LONG, "", LONG, LONG]]) {
    assert.equal(removed(parts), parts.join(""));
  }
});
