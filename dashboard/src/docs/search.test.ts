import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { find } from "./search.ts";

const part = (title: string, text: string) => ({ path: "/docs", page: "Keys", title, text });

test("a search finds parts with every word, in any case, those with the words in their title first", () => {
  const parts = [part("Limits", "a key's month"), part("A new key", "names a LIMIT"), part("Rotate a key", "")];
  const titles = (question: string) => find(parts, question).map(({ title }) => title);
  deepEqual(titles("limit"), ["Limits", "A new key"]);
  deepEqual(titles("Key limit"), ["Limits", "A new key"]);
  deepEqual(titles("rotate KEY"), ["Rotate a key"]);
  deepEqual(titles("  "), []);
  deepEqual(titles("limit nowhere"), []);
});
