import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { bundleOf, bundles } from "../../test/write-examples.ts";
import { walletSteps } from "./wallet-program.ts";

for (const [path, names] of Object.entries(bundles)) {
  test(`${path} has the files of docs/examples`, () => {
    const text = readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
    assert.equal(text, bundleOf(names), "`npm run examples` writes it");
  });
}

test("the wallet's program is cut into steps with an explanation and code", () => {
  const steps = walletSteps({ baseUrl: "https://a.example", model: "m" });
  assert.deepEqual(
    steps.map(({ id }) => id),
    ["connect", "approve", "mint", "activate", "key", "wait", "use"],
  );
  for (const { title, about, code } of steps) assert.ok(title !== "" && about.endsWith(".") && code !== "", title);
});
