import { deepEqual, equal, throws } from "node:assert/strict";
import { test } from "node:test";
import { toolSetups } from "@inference/protocol/tool-setups";
import { withSetup } from "./setup-file.ts";

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

test("other settings stay: keys before tables, and tables after keys", () => {
  const toml = withSetup('approval_policy = "never"\n\n[tools]\nweb_search = true\n', fileOf("codex"));
  const order = ["model =", "approval_policy", "[tools]", "[model_providers.gateway]"].map((part) =>
    toml.indexOf(part),
  );
  deepEqual(
    order,
    order.toSorted((one, other) => one - other),
  );
  const json = JSON.parse(withSetup('{"env":{"A":"1","ANTHROPIC_MODEL":"x"},"b":[2]}', fileOf("claude-code"))) as {
    env: Record<string, string>;
    b: number[];
  };
  deepEqual([json.env.A, json.env.ANTHROPIC_MODEL, json.b], ["1", "one", [2]]);
  equal(withSetup("dark-mode: true\n", fileOf("aider")).startsWith("dark-mode: true\n"), true);
});

test("a file with another value of a setting is not changed, nor an unreadable one", () => {
  throws(() => withSetup('model = "mine"\n', fileOf("codex")), /has `model` already.*--dry-run/);
  throws(() => withSetup("[model_providers.gateway]\nname = 1\n", fileOf("codex")), /already/);
  throws(() => withSetup("model: mine\n", fileOf("aider")), /has `model` already/);
  throws(() => withSetup("{ // mine\n}", fileOf("opencode")), /not a JSON object/);
  // The same name inside a table is another thing.
  withSetup('[profiles.mine]\nmodel = "mine"\n', fileOf("codex"));
});
