import assert from "node:assert/strict";
import { test } from "node:test";
import { makeRefusedCredentials } from "./refused-credentials.ts";

test("10,000 refused credentials are remembered, and of more the last ones", () => {
  const refused = makeRefusedCredentials();
  refused.add("again");
  for (let digest = 0; digest < 9_999; digest++) refused.add(String(digest));
  refused.add("again");
  assert.ok(refused.has("0"));
  refused.add("one more");
  assert.ok(refused.has("again") && refused.has("one more") && refused.has("1"));
  assert.ok(!refused.has("0"));
  refused.delete("again");
  assert.ok(!refused.has("again"));
});
