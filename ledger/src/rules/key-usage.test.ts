import assert from "node:assert/strict";
import { test } from "node:test";
import { answer } from "../messages/reads.ts";
import { account, admit, createKey, makeExample, noon, reserve, settle } from "../testing/example.ts";

const DAY = 86_400_000;
type Host = ReturnType<typeof makeExample>;

function charge(host: Host, id: string, more: { at?: number; key?: string; model?: string } = {}): void {
  const { at = noon, key = "key1", model = "small" } = more;
  host.clock.now = at;
  admit(host, account, { ...reserve(id, 10), at, payer: { kind: "key", digest: `digest of ${key}` } });
  host.apply(account, { ...settle(id, 10), tally: { model, promptTokens: 0, completionTokens: 0 } });
}

const usage = (host: Host, at: number, keyId = "key1") =>
  Object.values(answer(host.rows(account), { type: "keyUsage", at, keyId }));

test("a key's usage is that of its day and of its month, whatever the models and the other keys", () => {
  const host = makeExample({ balance: 10_000 });
  for (const keyId of ["key", "key10"]) host.apply(account, createKey(keyId));
  assert.deepEqual(usage(host, noon), [0, 0]);
  for (let n = 0; n < 205; n++) charge(host, `r${n}`, { model: `model ${n}` });
  charge(host, "untold", { model: "" });
  for (const key of ["key", "key10"]) charge(host, `by ${key}`, { key });
  assert.deepEqual(usage(host, noon), [2_060, 2_060]);
  assert.deepEqual(usage(host, noon, "key"), [10, 10]);
  charge(host, "tomorrow", { at: noon + DAY });
  assert.deepEqual(usage(host, noon + DAY), [10, 2_070]);
  assert.deepEqual(usage(host, noon + 2 * DAY), [0, 2_070]);
  charge(host, "next month", { at: noon + 20 * DAY });
  assert.deepEqual(usage(host, noon + 20 * DAY), [10, 10]);
});
