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
