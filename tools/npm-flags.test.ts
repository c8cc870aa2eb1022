import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { flags, flagsTakenByNpm } from "./npm-flags.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const sourceOf = (file: string) => readFileSync(join(root, file), "utf8");

test("a flag that npm took for its own reaches the program", () => {
  const run = (...args: string[]) =>
    spawnSync("npm", ["run", "--silent", "deploy:contracts", ...args, "nowhere.json"], { cwd: root, encoding: "utf8" })
      .stderr;
  // Together they are refused before the file is looked for.
  assert.match(run(), /nowhere\.json/);
  const usage = run("--", "--send", "--verify");
  assert.match(usage, /--verify/);
  assert.ok(run("--send", "--verify").endsWith(usage), "without the dashes between");
});

test("a flag is given as it was written, once, and none that was switched off", () => {
  const environment = {
    npm_config_quick: "true",
    npm_config_rounds: "5",
    npm_config_only: "",
    npm_config_fresh: "true",
  };
  assert.deepEqual(flagsTakenByNpm("test/bench/src/main.ts", environment), ["--rounds=5", "--quick"]);
  assert.deepEqual(flagsTakenByNpm("test/devnet/src/main.ts", environment), ["--fresh"]);
  assert.deepEqual(flagsTakenByNpm("test/devnet/src/main.ts", { npm_config_fresh: "false" }), []);
  assert.deepEqual(flagsTakenByNpm("keeper/src/main.ts", environment), []);
});

test("the list of flags is that of the programs", () => {
  const { scripts } = JSON.parse(sourceOf("package.json")) as { scripts: Record<string, string> };
  const programs = Object.values(scripts).flatMap((script) => /run\.mjs (\S+)/.exec(script)?.[1] ?? []);
  for (const program of new Set(programs)) {
    const source = sourceOf(program === "hosts/node/src/main.ts" ? "hosts/node/src/arguments.ts" : program);
    const declared = source.matchAll(/(\w+): \{ type: "(?:boolean|string)"/g);
    const looked = source.matchAll(/args\.includes\("--(\w+)"\)/g);
    const names = new Set([...declared, ...looked].map(([, name = ""]) => name));
    for (const ofNpm of ["help", "version"]) names.delete(ofNpm);
    assert.deepEqual([...names].sort(), [...(flags[program] ?? [])].sort(), program);
  }
});
