import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { edgeConfigOf, settingsOf } from "../settings.ts";
import { bundleWorker } from "./bundle.ts";
import { configurationOf, FREE_BYTES, problemsOf, SECRETS } from "./configuration.ts";
import { readSettings } from "./settings-file.ts";

/**
 * `npm run deploy:cloudflare`: bundles the Worker, writes its configuration, and checks both against Cloudflare's
 * limits. With `--confirm` it deploys them.
 */
const HELP = `npm run deploy:cloudflare                 a dry run: builds and checks, and sends nothing
npm run deploy:cloudflare -- --confirm    deploys, with wrangler; secrets must have been uploaded before

Settings come from the environment, as the gateway's own do (docs/deploying-cloudflare.md), and beside them
  CLOUDFLARE_KV_ID         the id of the KV namespace
  CLOUDFLARE_WORKER_NAME   the Worker's name (inference-gateway)
`;

/** Deploys the Worker. It is fetched when it is first needed. */
const WRANGLER = "wrangler@4.164.0";

/** Valid placeholders for required secrets, to check the other settings. */
const standIns: { [secret: string]: string } = {
  GATEWAY_SECRET: "00".repeat(32),
  UPSTREAM_API_KEY: "uploaded",
  UPSTREAM_RECORD_KEY: "uploaded",
  PRIMARY_RPC_URL: "https://uploaded.invalid",
};

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}

async function main(): Promise<void> {
  const { values: flags } = parseArgs({ options: { confirm: { type: "boolean" }, help: { type: "boolean" } } });
  if (flags.help) {
    process.stdout.write(HELP);
    return;
  }
  const settings = readSettings(process.env);
  const missing = missingOf(settings);
  const bundle = await bundleWorker();
  const configuration = configurationOf(settings, {
    name: process.env.CLOUDFLARE_WORKER_NAME || undefined,
    keyValueId: process.env.CLOUDFLARE_KV_ID ?? "",
  });
  const problems = problemsOf(configuration, bundle);
  if (problems.length > 0) throw new Error(problems.join("\n"));

  const folder = fileURLToPath(new URL("../../dist/", import.meta.url));
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}worker.js`, bundle.code);
  writeFileSync(`${folder}wrangler.json`, `${JSON.stringify(configuration, null, 2)}\n`);
  const plan = bundle.gzipBytes <= FREE_BYTES ? "any plan" : "the paid plan";
  process.stdout.write(`${folder}worker.js: ${bundle.gzipBytes} bytes compressed, within ${plan}'s limit\n`);
  process.stdout.write(`${folder}wrangler.json: ${describe(configuration)}\n`);
  if (flags.confirm !== true) {
    if (missing.length > 0) process.stdout.write(`Before it can be deployed:\n${missing.join("\n")}\n`);
    process.stdout.write("A dry run: nothing was sent. To deploy: npm run deploy:cloudflare -- --confirm\n");
    return;
  }
  if (missing.length > 0) throw new Error(missing.join("\n"));
  const { status, error } = spawnSync("npx", ["--yes", WRANGLER, "deploy", "--config", `${folder}wrangler.json`], {
    stdio: "inherit",
  });
  if (error !== undefined) throw new Error(`npx, which fetches and runs ${WRANGLER}, did not start: ${error.message}`);
  process.exit(status ?? 1);
}

/** Secrets may be missing here, because they are uploaded to Cloudflare separately. */
function missingOf(settings: Readonly<Record<string, string | undefined>>): string[] {
  const missing = process.env.CLOUDFLARE_KV_ID ? [] : ["  CLOUDFLARE_KV_ID: is missing (the id of the KV namespace)"];
  const secrets = Object.fromEntries(SECRETS.map((name) => [name, standIns[name]]));
  try {
    edgeConfigOf(settingsOf({ ...secrets, ...settings }));
  } catch (error) {
    missing.push(error instanceof Error ? error.message : String(error));
  }
  return missing;
}

function describe({ durable_objects, kv_namespaces, migrations, vars }: ReturnType<typeof configurationOf>): string {
  const objects = durable_objects.bindings.map(({ name, class_name }) => `${name} (${class_name})`).join(", ");
  const tags = migrations.map(({ tag }) => tag).join(", ");
  const namespaces = kv_namespaces.map(({ binding }) => binding).join(", ");
  return `objects ${objects}; migrations ${tags}; KV ${namespaces}; ${Object.keys(vars).length} variables`;
}
