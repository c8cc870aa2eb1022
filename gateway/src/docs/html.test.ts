import assert from "node:assert/strict";
import { test } from "node:test";
import { html, prose } from "./html.ts";

test("what is put into a page is text, whatever it holds", () => {
  const text = `<b a="1" c='2'>&amp;`;
  assert.equal(html`<p>${text}</p>`.html, "<p>&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;</p>");
  assert.equal(html`<p>${[text, html`<i>${1}</i>`]}</p>`.html.endsWith("<i>1</i></p>"), true);
});

test("backquotes mark code, and nothing else is marked", () => {
  assert.equal(prose("send `a<b` or *c*").html, "send <code>a&lt;b</code> or *c*");
});
