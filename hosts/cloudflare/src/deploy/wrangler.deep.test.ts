import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { listenLocally } from "@inference/protocol/testing/local-server";
import { root, runWrangler } from "../testing/wrangler.ts";
import { wranglerFile } from "./wrangler-file.ts";

const home = mkdtempSync(join(tmpdir(), "wrangler-"));
after(() => rmSync(home, { recursive: true }));

const OLD = "00000000-0000-4000-8000-000000000001";
const NEW = "00000000-0000-4000-8000-000000000002";
type Share = { version_id: string; percentage: number };

/** Cloudflare's API, as far as wrangler asks it about a Worker that has a version. */
async function startApi() {
  const sent: string[] = [];
  let metadata: Record<string, unknown> = {};
  const versions = [OLD];
  let deployments: { id: string; created_on: string; source: string; versions: Share[] }[] = [];
  const deploy = (shares: Share[]) => {
    const created_on = new Date(Date.UTC(2026, 0, 1, 0, deployments.length)).toISOString();
    deployments = [{ id: String(deployments.length), created_on, source: "api", versions: shares }, ...deployments];
  };
  deploy([{ version_id: OLD, percentage: 100 }]);
  const version = (id: string) => {
    const created_on = `2026-01-01T00:0${versions.indexOf(id)}:00Z`;
    return {
      id,
      number: versions.indexOf(id),
      metadata: { created_on, source: "api" },
      resources: { bindings: [], script: {}, script_runtime: {} },
    };
  };
  const script = { default_environment: { environment: "production", script: { last_deployed_from: "api" } } };
  const results: [RegExp, () => unknown][] = [
    [/\/services\/[^/]+$/, () => script],
    [/\/secrets$/, () => wranglerFile.secrets.required.map((name) => ({ name, type: "secret_text" }))],
    [/\/deployments$/, () => ({ deployments })],
    // It has all files of the dashboard.
    [/\/assets-upload-session$/, () => ({ buckets: [], jwt: "uploaded" })],
    [/\/versions$/, () => ({ items: versions.map(version) })],
    [/\/settings$/, () => ({ bindings: [{ type: "kv_namespace", name: "KEY_VALUE", namespace_id: "known" }] })],
    [/\/workers\/workers\/[^/]+$/, () => ({ subdomain: { enabled: false, previews_enabled: false } })],
  ];
  const api = createServer(async (request, response) => {
    const path = (request.url ?? "").replace(/\?.*/, "");
    const body = await text(request);
    if (request.method !== "GET" && !path.endsWith("/assets-upload-session"))
      sent.push(`${request.method} ${path} ${body.startsWith("{") ? body : "files"}`);
    const files = /name="metadata"\s+(\{.*\})\r?\n/.exec(body)?.[1];
    if (files !== undefined) metadata = JSON.parse(files);
    let result = results.find(([of]) => of.test(path))?.[1]() ?? {};
    const [, id = ""] = /\/versions\/([^/]+)$/.exec(path) ?? [];
    if (versions.includes(id)) result = version(id);
    if (request.method === "POST" && path.endsWith("/versions")) {
      versions.push(NEW);
      result = { ...version(NEW), startup_time_ms: 1 };
    }
    if (request.method === "POST" && path.endsWith("/deployments")) {
      deploy((JSON.parse(body) as { versions: Share[] }).versions);
      result = { id: "next" };
    }
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ success: true, errors: [], messages: [], result }));
  });
  const { url, close } = await listenLocally(api);
  const environment = {
    CLOUDFLARE_API_BASE_URL: url,
    CLOUDFLARE_API_TOKEN: "token",
    CLOUDFLARE_ACCOUNT_ID: "account",
  };
  const shares = () => deployments[0]?.versions.map(({ version_id, percentage }) => `${version_id}@${percentage}`);
  return { environment, sent, shares, metadata: () => metadata, close };
}

/** `npm run deploy` in this tree. */
async function deploy(args: readonly string[], environment: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [fileURLToPath(new URL("main.ts", import.meta.url)), ...args], {
    cwd: root,
    env: {
      ...{ PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH}`, HOME: home, CI: "1" },
      ...{ WRANGLER_SEND_METRICS: "false", NODE_NO_WARNINGS: "1" },
      ...environment,
    },
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => (said += data.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, said };
}

/** The file with the settings of an environment filled in. */
function filledFile(): string {
  const vars = {
    BASE_URL: "http://127.0.0.1:9",
    UPSTREAM_BASE_URL: "https://provider.example/v1",
    PRIMARY_CHAIN_ID: 8453,
    SETTLEMENT_ADDRESS: "0x0000000000000000000000000000000000000001",
  };
  const file = join(home, "filled.json");
  const { env = {}, ...top } = wranglerFile as typeof wranglerFile & { main: string };
  const filled = {
    ...top,
    main: join(root, top.main),
    build: undefined,
    assets: undefined,
    env: { staging: { ...env.staging, vars } },
  };
  writeFileSync(file, JSON.stringify(filled));
  return file;
}

test("wrangler deploys the file from any shell, and keeps what is set elsewhere", async (t) => {
  const api = await startApi();
  t.after(api.close);
  const said = await runWrangler(home, ["deploy", "--env", "staging"], api.environment);
  const metadata = api.metadata();
  assert.deepEqual(metadata.keep_bindings, ["plain_text", "json", "secret_text", "secret_key"]);
  const bindings = metadata.bindings as { name: string; type: string }[];
  const named = (type: string) => bindings.filter((binding) => binding.type === type).map(({ name }) => name);
  assert.deepEqual(named("plain_text"), Object.keys(wranglerFile.vars ?? {}));
  assert.deepEqual(named("inherit"), [...wranglerFile.secrets.required, "KEY_VALUE"]);
  assert.deepEqual(named("durable_object_namespace"), ["PARTITION", "CHAIN"]);
  const object = { type: "durable-object", storage: "sqlite" };
  assert.deepEqual(metadata.exports, { PartitionObject: object, ChainObject: object });
  assert.deepEqual(metadata.observability, { enabled: true, logs: { invocation_logs: false } });
  // The free plan's limit; the paid plan's is 10 MiB.
  assert.ok(Number(/gzip: ([\d.]+) KiB/.exec(said)?.[1]) < 3 * 1024, said);
  const script = "/accounts/account/workers/scripts/inference-gateway-staging";
  // A domain set in Cloudflare's dashboard stays.
  assert.deepEqual(api.sent, [
    `PUT ${script} files`,
    `PATCH ${script}/script-settings {"tags":["cf:service=inference-gateway","cf:environment=staging"]}`,
    `POST ${script}/subdomain {"enabled":false,"previews_enabled":false}`,
  ]);
});

test("each environment has all that the Worker at the top has, by wrangler's own rules", async () => {
  const shown = async (...args: string[]) => {
    const said = await runWrangler(home, ["deploy", "--dry-run", ...args]);
    assert.doesNotMatch(said, /WARNING/);
    return said.slice(said.indexOf("Your Worker has access"));
  };
  const top = await shown("--env", "");
  assert.match(top, /PARTITION[\s\S]*CHAIN[\s\S]*KEY_VALUE/);
  for (const name of ["staging", "production"]) {
    assert.equal(await shown("--env", name), top, name);
    assert.match(await shown("--config", "hosts/cloudflare/settler-key.jsonc", "--env", name), /SETTLEMENT_ADDRESS/);
    await shown("--config", "hosts/cloudflare/alerts.jsonc", "--env", name);
  }
});

test("a version is uploaded without requests, gets a share, then all, and is rolled back", async (t) => {
  const api = await startApi();
  t.after(api.close);
  const where = ["--env", "staging", "--config", filledFile()];
  const run = async (...step: string[]) => {
    const { code, said } = await deploy([...step, ...where], api.environment);
    assert.equal(code, 0, said);
    return said;
  };
  assert.match(await run("upload", "--dry-run"), /^It is not known whether this deployment can be rolled back/);
  assert.deepEqual(api.sent, []);
  assert.match(await run("upload"), new RegExp(`--worker inference-gateway-staging=${NEW}\n`));
  assert.deepEqual(api.shares(), [`${NEW}@0`, `${OLD}@100`]);
  await run("share", "10");
  assert.deepEqual(api.shares(), [`${NEW}@10`, `${OLD}@90`]);
  await run("share", "100");
  assert.deepEqual(api.shares(), [`${NEW}@100`]);
  assert.match((await deploy(["share", "10", ...where], api.environment)).said, /All requests have the newest version/);
  await run("rollback");
  assert.deepEqual(api.shares(), [`${OLD}@100`]);
});

test("a deployment without settings, or of an unknown environment, says what to do and sends nothing", async () => {
  const nowhere = await deploy([], {});
  assert.equal(nowhere.code, 1);
  assert.match(nowhere.said, /cannot be deployed:[\s\S]*BASE_URL: is missing[\s\S]*--env is missing/);
  assert.match((await deploy(["--env", "prod"], {})).said, /^--env prod: the file has staging, production/);
  assert.match((await deploy(["share", "0", "--config", filledFile(), "--env", "staging"], {})).said, /from 1 to 100/);
});
