import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const contracts = fileURLToPath(new URL("..", import.meta.url));

test("forge finds tests in every suite, because a suite without tests would pass", () => {
  const forge = spawnSync(process.execPath, ["script/forge.ts", "test", "--list", "--json", "--no-match-contract=^$"], {
    cwd: contracts,
    env: { ...process.env, FOUNDRY_PROFILE: process.env.FOUNDRY_PROFILE ?? "fast" },
    encoding: "utf8",
  });
  const found = JSON.parse(forge.stdout) as Record<string, Record<string, string[]>>;
  const withTests = Object.entries(found)
    .filter(([, suites]) => Object.values(suites).some((tests) => tests.length > 0))
    .map(([file]) => file);
  assert.deepEqual(withTests.sort(), globSync("test/**/*.t.sol", { cwd: contracts }).sort());
});
