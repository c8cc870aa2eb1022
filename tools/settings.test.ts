import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { configurationPage } from "./settings.ts";

test("the page of settings is what the schema says: `node tools/run.mjs tools/settings.ts` writes it anew", () => {
  const page = readFileSync(new URL("../docs/configuration.md", import.meta.url), "utf8");
  assert.equal(page, configurationPage(page));
});
