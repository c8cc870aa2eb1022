import { deepEqual, equal, throws } from "node:assert/strict";
import { test } from "node:test";
import { toolSetups } from "@inference/protocol/tool-setups";
import { hasSetup, withoutSetup, withSetup } from "./setup-file.ts";

const setups = (model: string) => toolSetups({ baseUrl: "https://gateway.example", model, contextLength: 131_072 });
const fileOf = (id: string, model = "one") => {
  const file = setups(model).find((setup) => setup.id === id)?.file;
  if (file == null) throw new Error(`${id} has no file`);
  return file;
};

test("a new file has the setup, and a second run changes only the setup", () => {
  for (const { id, file } of setups("one")) {
    if (file === null) continue;
    const first = withSetup(undefined, file);
    equal(withSetup(first, file), first, id);
    // opencode may keep several models.
    if (id !== "opencode") equal(withSetup(first, fileOf(id, "two")), withSetup(undefined, fileOf(id, "two")), id);
  }
});

test("other settings of a JSON file stay, and come back when the setup is taken out", () => {
  const own = '{"env":{"A":"1","ANTHROPIC_MODEL":"x"},"b":[2]}';
  const merged = withSetup(own, fileOf("claude-code"));
  const json = JSON.parse(merged) as { env: Record<string, string>; b: number[] };
  deepEqual([json.env.A, json.env.ANTHROPIC_MODEL, json.b], ["1", "one", [2]]);
  deepEqual(JSON.parse(withoutSetup(merged, own, fileOf("claude-code"))), JSON.parse(own));
  for (const { file } of setups("one"))
    if (file !== null) equal(withoutSetup(withSetup(undefined, file), undefined, file), "");
  equal(hasSetup(own, fileOf("claude-code")), false);
  for (const { file } of setups("one")) if (file !== null) equal(hasSetup(withSetup(undefined, file), file), true);
  equal(hasSetup(withSetup(undefined, fileOf("opencode", "two")), fileOf("opencode")), true);
  const two = withSetup(withSetup(undefined, fileOf("opencode")), fileOf("opencode", "two"));
  equal(withoutSetup(two, undefined, fileOf("opencode")), "");
});

test("another file is neither changed nor removed, nor one that cannot be read", () => {
  for (const change of [withSetup, (text: string, file: ReturnType<typeof fileOf>) => withoutSetup(text, text, file)]) {
    throws(() => change('model = "mine"\n', fileOf("codex")), /not of `infer setup`.*--dry-run/);
    throws(() => change("model: mine\n", fileOf("aider")), /not of `infer setup`/);
    throws(() => change("{ // mine\n}", fileOf("opencode")), /not a JSON object/);
  }
});
