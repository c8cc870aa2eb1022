import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { runWrangler } from "../testing/wrangler.ts";
import { wranglerFile } from "./wrangler-file.ts";

const home = mkdtempSync(join(tmpdir(), "wrangler-"));
after(() => rmSync(home, { recursive: true }));

/** Cloudflare's API, as far as `wrangler deploy` of a Worker that exists asks it. */
async function deployed(): Promise<{ said: string; sent: string[]; metadata: Record<string, unknown> }> {
  const sent: string[] = [];
  let metadata = {};
  const results: [RegExp, unknown][] = [
    [
      /\/services\/[^/]+$/,
      { default_environment: { environment: "production", script: { last_deployed_from: "api" } } },
    ],
    [/\/secrets$/, wranglerFile.secrets.required.map((name) => ({ name, type: "secret_text" }))],
    [/\/deployments$/, { deployments: [] }],
    [/\/settings$/, { bindings: [{ type: "kv_namespace", name: "KEY_VALUE", namespace_id: "known" }] }],
    [/\/workers\/workers\/[^/]+$/, { subdomain: { enabled: false, previews_enabled: false } }],
  ];
  const api = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const path = (request.url ?? "").replace(/\?.*/, "");
    const body = Buffer.concat(parts).toString();
    if (request.method !== "GET") sent.push(`${request.method} ${path} ${body.startsWith("{") ? body : "files"}`);
    if (request.method === "PUT") metadata = JSON.parse(/name="metadata"\s+(\{.*\})\r?\n/.exec(body)?.[1] ?? "{}");
    const result = results.find(([of]) => of.test(path))?.[1] ?? {};
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ success: true, errors: [], messages: [], result }));
  });
  await new Promise<void>((resolve) => api.listen(0, "127.0.0.1", resolve));
  try {
    const said = await runWrangler(home, ["deploy"], {
      CLOUDFLARE_API_BASE_URL: `http://127.0.0.1:${(api.address() as AddressInfo).port}`,
      CLOUDFLARE_API_TOKEN: "token",
      CLOUDFLARE_ACCOUNT_ID: "account",
    });
    return { said, sent, metadata };
  } finally {
    api.close();
  }
}

test("wrangler deploys the file from any shell, and keeps what is set elsewhere", async () => {
  const { said, sent, metadata } = await deployed();
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
  const script = "/accounts/account/workers/scripts/inference-gateway";
  // A domain set in Cloudflare's dashboard stays.
  assert.deepEqual(sent, [
    `PUT ${script} files`,
    `POST ${script}/subdomain {"enabled":false,"previews_enabled":false}`,
  ]);
});
