import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { toolSetups } from "./tool-setups.ts";

test("docs/clients.md has each tool's setup as the reference has it", () => {
  const page = readFileSync(new URL("../../docs/clients.md", import.meta.url), "utf8");
  for (const { title, language, code } of toolSetups({
    baseUrl: "{base_url}",
    model: "MODEL",
    contextLength: 131_072,
  })) {
    assert.ok(page.includes(`\`\`\`${language}\n${code}\n\`\`\``), title);
  }
});

test("a model without a known context window has no line about it, and JSON stays JSON", () => {
  for (const { title, code, file } of toolSetups({ baseUrl: "", model: "one", contextLength: null })) {
    for (const text of [code, file?.content ?? ""]) assert.doesNotMatch(text, /131072|CONTEXT|limit|null/, title);
    if (file?.format === "json") JSON.parse(file.content);
  }
});
