import assert from "node:assert/strict";
import { test } from "node:test";
import { prose } from "./page-parts.ts";

test("backquotes mark code, nothing else is marked, and text stays text", () => {
  assert.equal(String(prose(`send \`a<b\` or *c* & "d"`)), "send <code>a&lt;b</code> or *c* &amp; &quot;d&quot;");
});
