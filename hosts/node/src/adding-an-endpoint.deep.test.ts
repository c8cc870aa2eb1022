import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import type { makeApp } from "@inference/gateway/app";
import { billed, providerRecord, settledOne } from "@inference/gateway/test/settlement/audit";
import { type Stack, startStack, type TestAccount } from "./testing/stack.ts";

/** `docs/adding-an-endpoint.md`, followed to the letter in a copy of the gateway's sources. */
const USD = 1_000_000_000;
const TOKEN = "an-operators-token";
const root = fileURLToPath(new URL("../../..", import.meta.url));
const page = readFileSync(join(root, "docs/adding-an-endpoint.md"), "utf8");

const copy = copyGateway();
let stack: Stack;
let account: TestAccount;

before(async () => {
  followPage(join(copy, "src/routes"));
  const app = (await import(pathToFileURL(join(copy, "src/app.ts")).href)) as { makeApp: typeof makeApp };
  stack = await startStack({ makeApp: app.makeApp, operator: { metricsToken: TOKEN } });
  account = await stack.account(USD);
});
after(async () => {
  await stack?.stop();
  rmSync(copy, { recursive: true });
});

/** Inside the repository, where packages are found, and in a folder that git, tests and tools pass over. */
function copyGateway(): string {
  mkdirSync(join(root, "cache"), { recursive: true });
  const folder = mkdtempSync(join(root, "cache/adding-an-endpoint-"));
  for (const part of ["src", "package.json"]) {
    const isNoTest = (file: string) => !file.endsWith(".test.ts");
    cpSync(join(root, "gateway", part), join(folder, part), { recursive: true, filter: isNoTest });
  }
  return folder;
}

function followPage(routes: string): void {
  const [, file = ""] = /Write `gateway\/src\/routes\/([\w-]+\.ts)`/.exec(page) ?? [];
  const [source = "", ...others] = blocks("ts");
  assert.ok(file !== "" && source !== "" && others.length === 0, "the page writes one file");
  writeFileSync(join(routes, file), source, { flag: "wx" });
  const list = join(routes, "all.ts");
  for (const diff of blocks("diff")) writeFileSync(list, applied(diff, readFileSync(list, "utf8")));
}

function blocks(language: string): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm"))].map(([, code = ""]) => code);
}

function applied(diff: string, text: string): string {
  const lines = diff.trimEnd().split("\n");
  const before = lines.filter((line) => !line.startsWith("+")).map((line) => line.slice(1));
  const parts = `\n${text}`.split(`\n${before.join("\n")}\n`);
  assert.equal(parts.length, 2, `${before.join("\n")} is there ${parts.length - 1} times`);
  return parts.join(`\n${lines.map((line) => line.slice(1)).join("\n")}\n`).slice(1);
}

async function read(path: string, key?: string): Promise<string> {
  const answer = await stack.call(path, key === undefined ? {} : { key });
  assert.equal(answer.status, 200, path);
  return answer.text();
}

describe("the endpoint of docs/adding-an-endpoint.md", () => {
  for (const prefix of ["/api/v1", "/v1"]) {
    test(`is served under ${prefix}, charged exactly, and has a receipt`, async () => {
      const own = await stack.account(USD);
      const body = { model: "sim-embedding", query: `A word on harbours, under ${prefix}.` };
      const answer = await stack.call(`${prefix}/embeddings/query`, { key: own.key, body });
      assert.equal(answer.status, 200, await answer.clone().text());
      const { data, usage } = (await answer.json()) as { data: unknown[]; usage: { cost: number } };
      assert.equal(data.length, 1);
      const bill = billed(await providerRecord(stack, body.query));
      assert.ok(bill > 0 && bill < USD);
      assert.equal(Math.round(usage.cost * USD), bill);
      const { receipt, detail } = await settledOne(stack, own.address);
      assert.deepEqual(
        [receipt.chargeNanoUsd, detail.route, detail.basis, detail.model],
        [bill, "query_embedding", "usage", "sim-embedding"],
      );
      const id = answer.headers.get("x-request-id");
      const shown = JSON.parse(await read(`/api/v1/generation?id=${id}`, own.key)) as { data: Record<string, unknown> };
      assert.deepEqual([shown.data.charge_nano_usd, shown.data.route], [bill, "query_embedding"]);
    });
  }

  test("is authenticated, checks its body by its schema, and takes an Idempotency-Key", async () => {
    const send = (body: object, headers: Record<string, string> = {}): Promise<Response> =>
      fetch(`${stack.url}/v1/embeddings/query`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${account.key}`, ...headers },
        body: JSON.stringify(body),
      });
    const good = { model: "sim-embedding", query: "A word on harbours." };
    assert.equal((await send(good, { authorization: "" })).status, 401);
    for (const wrong of [{ ...good, query: 1 }, { ...good, input: "x" }, { query: "x" }]) {
      assert.equal((await send(wrong)).status, 400, JSON.stringify(wrong));
    }
    const [first, again] = [await send(good, { "idempotency-key": "a" }), await send(good, { "idempotency-key": "a" })];
    assert.deepEqual([first.status, again.status, again.headers.get("idempotent-replayed")], [200, 200, "true"]);
    await settledOne(stack, account.address);
  });

  test("is in /openapi.json, /docs and /llms.txt", async () => {
    const { paths, components } = JSON.parse(await read("/openapi.json")) as {
      paths: Record<string, Record<string, { operationId: string }>>;
      components: { schemas: Record<string, unknown> };
    };
    assert.equal(paths["/api/v1/embeddings/query"]?.post?.operationId, "createQueryEmbedding");
    assert.ok("QueryEmbeddingRequest" in components.schemas);
    assert.ok((await read("/docs/inference")).includes('<article id="createQueryEmbedding">'));
    assert.ok(
      (await read("/llms.txt")).includes("- `POST /api/v1/embeddings/query`: The embedding of one search query"),
    );
  });

  test("is counted in the metrics by its paths", async () => {
    await stack.call("/v1/embeddings/query", { body: {} });
    const metrics = await read("/metrics", TOKEN);
    assert.match(metrics, /requests_total\{route="POST \/v1\/embeddings\/query",status="401"\} [1-9]/);
  });

  test("has the types that the page's words promise", async () => {
    const project = { extends: "../../tsconfig.json", include: [], files: ["src/routes/all.ts"] };
    writeFileSync(join(copy, "tsconfig.json"), JSON.stringify(project));
    await promisify(execFile)(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", copy]).catch(
      ({ stdout }) => assert.fail(String(stdout)),
    );
  });
});
