import assert from "node:assert/strict";
import { test } from "node:test";
import { readScript, writeScripted } from "./script.ts";

const steps = [{ think: "Hm.", calls: [{ name: "read", arguments: { path: "a" } }] }, { say: "Done." }];
const said = `Go. <script>${JSON.stringify(steps)}</script>`;
const user = { role: "user", content: said };

test("the step is that of the answers given so far, and past the end the last", () => {
  const assistant = { role: "assistant", content: null };
  assert.deepEqual(readScript(said, [user]), steps[0]);
  assert.deepEqual(readScript(said, [user, assistant, { role: "tool", content: "x" }]), steps[1]);
  assert.deepEqual(readScript(said, [user, assistant, assistant, assistant]), steps[1]);
  assert.equal(readScript("Go.", [user]), null);
});

test("the deltas of a step add up to its message", () => {
  const { deltas, message, reasoning, hasCalls } = writeScripted({ ...steps[0], say: "I read. 🙂" }, "call_1");
  const whole = JSON.parse(message);
  const parsed = deltas.map((delta) => JSON.parse(delta));
  const joined = (field: string): string => parsed.map((delta) => delta[field] ?? "").join("");
  assert.deepEqual([joined("reasoning_content"), joined("content")], ["Hm.", "I read. 🙂"]);
  assert.deepEqual([whole.reasoning_content, whole.content, reasoning, hasCalls], ["Hm.", "I read. 🙂", 1, true]);
  const calls = parsed.flatMap((delta) => delta.tool_calls ?? []);
  assert.deepEqual([calls[0].id, calls[0].function.name], ["call_1_0", "read"]);
  const given = calls.map((call: { function: { arguments: string } }) => call.function.arguments).join("");
  assert.deepEqual(JSON.parse(given), { path: "a" });
  assert.equal(whole.tool_calls[0].function.arguments, given);
});
