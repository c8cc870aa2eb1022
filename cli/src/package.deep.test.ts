import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { shareDevnet } from "@inference/devnet/testing/shared-devnet";

test("the package installs in an empty folder without a network, and works", async () => {
  const devnet = await shareDevnet();
  const empty = mkdtempSync(join(tmpdir(), "infer-package-"));
  const run = promisify(execFile);
  const env = { ...process.env, npm_config_offline: "true", npm_config_cache: join(empty, ".npm") };
  try {
    await run("npm", ["pack", "--pack-destination", empty], {
      cwd: fileURLToPath(new URL("..", import.meta.url)),
      env,
    });
    const [tarball = ""] = readdirSync(empty).filter((name) => name.endsWith(".tgz"));
    await run("npm", ["install", "--no-audit", "--no-fund", `./${tarball}`], { cwd: empty, env });
    deepEqual(
      readdirSync(join(empty, "node_modules")).filter((name) => !name.startsWith(".")),
      ["@prepaid-inference"],
    );
    const installed = (file: string) =>
      readFileSync(join(empty, "node_modules/@prepaid-inference/infer", file), "utf8");
    equal(installed("LICENSE"), readFileSync(new URL("../../LICENSE", import.meta.url), "utf8"));
    match(installed("dist/LICENSES.txt"), /^=== viem 2\.[\s\S]*?Permission is hereby granted/m);
    const infer = (...argv: string[]) =>
      run(join(empty, "node_modules/.bin/infer"), argv, { cwd: empty, env: { ...env, XDG_STATE_HOME: empty } });
    const models = await infer("models", "--json", "--gateway", devnet.ready.gatewayUrl);
    ok((JSON.parse(models.stdout) as { models: unknown[] }).models.length > 0);
    equal((await infer("--help")).stdout.includes("infer: from dollars"), true);
  } finally {
    rmSync(empty, { recursive: true, force: true });
  }
});
