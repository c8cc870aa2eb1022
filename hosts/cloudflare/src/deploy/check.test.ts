import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { OBJECT_VERSION } from "../row-log.ts";
import { edgeSettings } from "../settings.ts";
import { root } from "../testing/wrangler.ts";
import { problemsOf, rollbackOf, SECRETS, wranglerEnvironment } from "./check.ts";
import { environmentOf, NOT_INHERITED, parseWranglerFile, wranglerFile } from "./wrangler-file.ts";

const home = mkdtempSync(join(tmpdir(), "wrangler-"));
after(() => rmSync(home, { recursive: true }));

const vars = {
  BASE_URL: "https://gateway.example",
  UPSTREAM_BASE_URL: "https://provider.example/v1",
  PRIMARY_CHAIN_ID: 8453,
  SETTLEMENT_ADDRESS: "0x0000000000000000000000000000000000000001",
  MODEL_ALIASES: { "our-name": "model-id" },
};
const valid = { ...wranglerFile, vars };

test("the file's settings are checked as the Worker reads them, and what is wrong is named", () => {
  assert.deepEqual(problemsOf(valid), []);
  assert.deepEqual(problemsOf({ ...valid, routes: [{ pattern: "gateway.example" }] }), []);
  const placed = { vars: { ...vars, LOCATION_HINT: "weur" }, placement: { hostname: "provider.example" } };
  assert.deepEqual(problemsOf({ ...valid, ...placed }), []);
  const { UPSTREAM_BASE_URL: _, ...others } = vars;
  assert.deepEqual(problemsOf({ ...valid, vars: { ...others, UPSTREAM_PROFILE: "venice" } }), []);
  const wrong: [name: string, change: object, RegExp][] = [
    ["as in a clone", { vars: wranglerFile.vars }, /BASE_URL: is missing[\s\S]*SETTLEMENT_ADDRESS: is missing/],
    ["more than a Worker has", { vars: { ...vars, CHAT_BODY_BYTES: 16_777_216 } }, /CHAT_BODY_BYTES: must be at most/],
    ["a secret", { vars: { ...vars, GATEWAY_SECRET: "11".repeat(32) } }, /GATEWAY_SECRET is a secret/],
    ["a word that is no setting", { vars: { ...vars, MODEL_ALIAS: {} } }, /MODEL_ALIAS is not a setting/],
    ["a settler without its key", { vars: { ...vars, SETTLER_ADDRESS: vars.SETTLEMENT_ADDRESS } }, /set both/],
    ["a key without its settler", { services: [{ binding: "SETTLER_KEY", service: "key" }] }, /set both/],
    ["objects far from the Worker", { vars: { ...vars, LOCATION_HINT: "weur" } }, /say with `placement`/],
    ["another host", { routes: ["other.example/*"] }, /No route is gateway\.example/],
  ];
  for (const [name, change, expected] of wrong) {
    assert.match(problemsOf({ ...valid, ...change }).join("\n"), expected, name);
  }
});

test("the file may have what wrangler reads: comments at the end of lines, and commas after the last entry", () => {
  const guide = readFileSync(join(root, "docs/deploying-cloudflare.md"), "utf8");
  const example = guide.split("```jsonc\n")[1]?.split("```", 1)[0] ?? assert.fail("the guide shows no settings");
  const filled = example.replace('"0x..."', `"${vars.SETTLEMENT_ADDRESS}"`).replace(":0x...", `:0x${"1".repeat(64)}`);
  const parsed = parseWranglerFile(`{ /* a file, ["of settings",] */ ${filled} }`);
  assert.equal(parsed.vars?.UPSTREAM_BASE_URL, "https://provider.example/api/v1");
  assert.deepEqual(problemsOf({ ...parsed, placement: {} }), []);
  assert.throws(() => parseWranglerFile('{ "vars": { }'), /^Error: wrangler\.jsonc is not valid JSON/);
  assert.match(problemsOf({ ...valid, vars: undefined }).join("\n"), /BASE_URL: is missing/);
});

test("staging and production have every binding of the Worker, and objects of their own", () => {
  for (const name of ["staging", "production"]) {
    const { vars: _, ...environment } = environmentOf(wranglerFile, name);
    const { env, vars, ...top } = wranglerFile;
    assert.deepEqual(environment, { ...top, name: `inference-gateway-${name}` }, name);
    assert.match(problemsOf(environmentOf(wranglerFile, name)).join("\n"), /BASE_URL: is missing/);
    for (const entry of NOT_INHERITED) {
      const lacking = { ...wranglerFile, env: { [name]: { ...env?.[name], [entry]: undefined } } };
      const text = JSON.stringify(lacking);
      assert.throws(() => environmentOf(parseWranglerFile(text), name), new RegExp(`env.${name} lacks ${entry}`));
    }
  }
  assert.throws(() => environmentOf(wranglerFile, "prod"), /--env prod: the file has staging, production/);
});

test("the guide names the settings that a Worker does not have", () => {
  const page = readFileSync(join(root, "docs/configuration.md"), "utf8");
  const guide = readFileSync(join(root, "docs/deploying-cloudflare.md"), "utf8");
  const all = [...page.matchAll(/^\| `([A-Z_]+)`/gm)].map(([, name = ""]) => name);
  const [, exceptions = ""] = /with the exception of ([^;]*?), which a Worker does not have/s.exec(guide) ?? [];
  const named = [...exceptions.matchAll(/`([A-Z_*]+)`/g)].map(([, name = ""]) => name);
  const isNamed = (name: string) => named.some((one) => new RegExp(`^${one.replace("*", ".*")}$`).test(name));
  const lacking = all.filter((name) => !(name in edgeSettings.shape));
  assert.deepEqual(all.filter(isNamed), lacking);
});

test("a secret in the environment of wrangler is refused, because wrangler prefers it to the file of secrets", (t) => {
  assert.deepEqual(problemsOf(valid, { GATEWAY_SECRET: "", BASE_URL: "https://other.example" }), []);
  const folder = process.cwd();
  t.after(() => process.chdir(folder));
  process.chdir(home);
  assert.deepEqual(problemsOf(valid, wranglerEnvironment({})), []);
  writeFileSync(".env", "UPSTREAM_API_KEY='other'\n");
  const said = problemsOf(valid, wranglerEnvironment({ GATEWAY_SECRET: "11".repeat(32) })).join("\n");
  assert.match(said, /GATEWAY_SECRET is set in this shell.*\nUPSTREAM_API_KEY is set in this shell or in \.env/);
});

test("a deployment says whether the deployed release reads its rows, so that it can be rolled back", async () => {
  const said = (row_version?: number) => rollbackOf(async () => ({ status: "ok", row_version }));
  assert.match(await said(OBJECT_VERSION), /^This deployment can be rolled back/);
  assert.match(await said(OBJECT_VERSION + 1), /^This deployment can be rolled back/);
  assert.match(
    await said(OBJECT_VERSION - 1),
    new RegExp(`^This deployment CANNOT be rolled back: it writes rows of version ${OBJECT_VERSION},`),
  );
  assert.match(await said(), /^It is not known/);
  assert.match(await rollbackOf(() => Promise.reject(new Error("no such host"))), /^It is not known/);
});

test("no webhook reaches the origins of the Worker's own zone behind its firewall", () => {
  assert.ok(wranglerFile.compatibility_flags.includes("global_fetch_strictly_public"));
});

test("secrets are settings by name, and a Deploy button asks for those that are required", () => {
  const names: readonly string[] = SECRETS;
  const secretive = Object.keys(edgeSettings.shape).filter((name) =>
    /_(KEY|SECRET|SECRET_PREVIOUS|TOKEN|RPC_URLS?)$/.test(name),
  );
  assert.deepEqual([...names].sort(), secretive.sort());
  const example = readFileSync(join(root, ".dev.vars.example"), "utf8");
  assert.deepEqual(
    [...example.matchAll(/^(\w+)=$/gm)].map(([, name]) => name),
    wranglerFile.secrets.required,
  );
  assert.deepEqual([...example.matchAll(/^(?:# )?(\w+)=/gm)].map(([, name = ""]) => name).sort(), [...names].sort());
});
