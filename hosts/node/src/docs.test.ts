import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { prose } from "@inference/gateway/docs/page";
import { messageRules } from "@inference/gateway/docs/signed-message";
import { snippets } from "@inference/gateway/docs/snippets";
import { settledOf } from "@inference/gateway/test/settlement/audit";
import { errorMeanings } from "@inference/protocol/error-meanings";
import * as answers from "@inference/protocol/wire/answers";
import type * as z from "zod";
import { type Stack, startStack, type TestAccount } from "./testing/stack.ts";

/** What the gateway says of itself is so: its examples run, and its answers are as they are described. */
const USD = 1_000_000_000;
const root = fileURLToPath(new URL("../../..", import.meta.url));
const run = promisify(execFile);
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const CHROMIUM_FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

let stack: Stack;
let account: TestAccount;
before(async () => {
  stack = await startStack();
  account = await stack.account(100 * USD);
});
after(() => stack.stop());

describe("each example, as it is printed, on a key of its own", () => {
  for (const id of ["curl", "openai", "ai-sdk", "ai-sdk-openai", "langchain"]) {
    test(`${id} answers, and is charged once`, async () => {
      const own = await stack.account(USD);
      const { code, language } =
        snippets({ baseUrl: stack.url, model: "sim-small" }).find((snippet) => snippet.id === id) ?? assert.fail();
      const [program, args] =
        language === "sh" ? ["/bin/sh", ["-c", code]] : [process.execPath, ["--input-type=module", "-e", code]];
      const env = {
        PATH: process.env.PATH,
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
        INFERENCE_API_KEY: own.key,
      };
      const { stdout } = await run(program, args, { cwd: root, env, timeout: 60_000 });
      const [settled, ...others] = await settledOf(stack, own.address);
      assert.deepEqual([settled?.detail.basis, settled?.detail.model, others], ["usage", "sim-small", []]);
      const text = (language === "sh" ? contentOf(stdout) : stdout).trim();
      assert.ok(text.length > 3, stdout);
      const again = await stack.call("/v1/chat/completions", { key: account.key, body: hello });
      assert.equal(text, contentOf(await again.text()).trim(), "the simulator answers the same to the same");
    });
  }

  const skip = existsSync(CHROMIUM) ? false : `there is no ${CHROMIUM}: apt-get install chromium`;
  test("browser: a page of another origin streams the answer into itself", { skip, timeout: 60_000 }, async () => {
    const own = await stack.account(USD);
    const profile = mkdtempSync(join(tmpdir(), "chromium-"));
    const shown = Promise.withResolvers<string>();
    // The page tells its own server what it shows in the end.
    const server = createServer((request, response) => {
      response.setHeader("content-type", "text/html; charset=utf-8");
      if (request.method === "POST") text(request).then(shown.resolve, shown.reject);
      response.end(`<pre></pre><script type="module">${browserSnippet()}
        const pre = document.querySelector("pre");
        await chat("${own.key}", "Hello", (text) => { pre.textContent += text; }).catch((error) => {
          pre.textContent = "failed: " + error.message;
        });
        await fetch("/", { method: "POST", body: pre.textContent });
      </script>`);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const page = `http://localhost:${(server.address() as AddressInfo).port}/`;
    const browser = spawn(CHROMIUM, [...CHROMIUM_FLAGS, `--user-data-dir=${profile}`, page], { stdio: "ignore" });
    const ended = once(browser, "exit");
    try {
      const whole = await stack.call("/v1/chat/completions", { key: account.key, body: hello });
      assert.equal(await shown.promise, contentOf(await whole.text()));
      assert.equal((await settledOf(stack, own.address))[0]?.detail.basis, "usage");
    } finally {
      browser.kill();
      await ended;
      server.close();
      server.closeAllConnections();
      rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    }
  });

  test("browser: the function streams the same text, and throws the gateway's words", async () => {
    const chat = new Function(`${browserSnippet()}; return chat;`)() as (
      key: string,
      content: string,
      onText: (text: string) => void,
    ) => Promise<void>;
    let text = "";
    await chat(account.key, "Hello", (part) => {
      text += part;
    });
    const whole = await stack.call("/v1/chat/completions", { key: account.key, body: hello });
    assert.equal(text, contentOf(await whole.text()));
    await assert.rejects(
      chat("none", "Hello", () => undefined),
      /API key is malformed/,
    );
    await assert.rejects(
      chat(account.key, "[[fault=error-after-content]]", () => undefined),
      /provider/i,
    );
  });
});

function browserSnippet(): string {
  const all = snippets({ baseUrl: stack.url, model: "sim-small" });
  return (all.find(({ id }) => id === "browser") ?? assert.fail()).code;
}

const hello = { model: "sim-small", max_tokens: 50, messages: [{ role: "user", content: "Hello" }] };

function contentOf(text: string): string {
  const { choices } = JSON.parse(text) as { choices: { message: { content: string } }[] };
  return choices[0]?.message.content ?? "";
}

describe("each answer is as it is described", () => {
  const described = (schema: z.ZodType, value: unknown): void => {
    const { success, error } = schema.safeParse(value);
    assert.ok(success, `${error?.message} in ${JSON.stringify(value)}`);
  };
  const read = async (path: string, body?: object): Promise<unknown> => {
    const answer = await stack.call(path, { key: account.key, ...(body === undefined ? {} : { body }) });
    assert.equal(answer.status, 200, `${path}: ${await answer.clone().text()}`);
    return answer.json();
  };

  const posts: [path: string, body: object, schema: z.ZodType][] = [
    ["/chat/completions", hello, answers.chatAnswer],
    ["/embeddings", { model: "sim-embedding", input: ["one", "two"] }, answers.embeddingsAnswer],
    ["/images/generations", { model: "sim-image", prompt: "a harbour" }, answers.imagesAnswer],
    ["/image/generate", { model: "sim-image", prompt: "a harbour" }, answers.imageGenerateAnswer],
  ];
  for (const [path, body, schema] of posts) {
    test(`POST ${path}`, async () => described(schema, await read(`/api/v1${path}`, body)));
  }

  test("every event of a stream", async () => {
    const body = { ...hello, stream: true, stream_options: { include_usage: true } };
    const answer = await stack.call("/api/v1/chat/completions", { key: account.key, body });
    const lines = (await answer.text()).split("\n").filter((line) => line.startsWith("data: {"));
    assert.ok(lines.length > 3);
    for (const line of lines) described(answers.chatChunk, JSON.parse(line.slice(6)));
  });

  const gets: [path: string, schema: z.ZodType][] = [
    ["/", answers.rootAnswer],
    ["/api/v1/models", answers.modelsAnswer],
    ["/api/v1/models/sim-small", answers.modelAnswer],
    ["/api/v1/credits", answers.creditsAnswer],
    ["/api/v1/key", answers.ownKeyAnswer],
    ["/api/v1/activity", answers.activityAnswer],
    ["/api/v1/activity?group_by=day,model,key", answers.activityAnswer],
    ["/api/v1/status", answers.statusAnswer],
    ["/api/v1/contracts", answers.contractsAnswer],
    ["/healthz", answers.healthAnswer],
    ["/auth/nonce", answers.nonceAnswer],
  ];
  for (const [path, schema] of gets) test(`GET ${path}`, async () => described(schema, await read(path)));

  test("a receipt", async () => {
    const { headers } = await stack.call("/api/v1/chat/completions", { key: account.key, body: hello });
    described(answers.generationAnswer, await read(`/api/v1/generation?id=${headers.get("x-request-id")}`));
  });

  test("an error, with numbers and without", async () => {
    const poor = await stack.account(1);
    const [unpaid, missing] = [
      await stack.call("/api/v1/chat/completions", { key: poor.key, body: hello }),
      await stack.call("/nowhere"),
    ];
    assert.deepEqual([unpaid.status, missing.status], [402, 404]);
    for (const answer of [unpaid, missing]) described(answers.errorAnswer, await answer.json());
  });
});

describe("the documents", () => {
  test("/openapi.json is OpenAPI 3.1 for this gateway", async () => {
    const answer = await stack.call("/openapi.json");
    assert.match(answer.headers.get("content-type") ?? "", /^application\/json/);
    const { openapi, servers, paths } = (await answer.json()) as {
      openapi: string;
      servers: { url: string }[];
      paths: Record<string, unknown>;
    };
    assert.deepEqual([openapi, servers], ["3.1.0", [{ url: "http://gateway.test" }]]);
    assert.ok("/api/v1/chat/completions" in paths);
  });

  test("/docs stands alone: no script, nothing from elsewhere, every link in it leads somewhere", async () => {
    const answer = await stack.call("/docs");
    assert.match(answer.headers.get("content-type") ?? "", /^text\/html/);
    const page = await answer.text();
    // What is code in it is text, which the next test holds.
    const markup = page.replace(/<code>[^<]*<\/code>/g, "");
    assert.doesNotMatch(markup, /<script|<link|<img|@import|url\(|\ssrc=|\son\w+="/i);
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    assert.equal(new Set(ids).size, ids.length, "an id is there twice");
    for (const [, target = ""] of page.matchAll(/href="#([^"]+)"/g)) assert.ok(ids.includes(target), target);
    for (const [, path = ""] of page.matchAll(/href="(\/[^"]*)"/g)) {
      assert.equal((await stack.call(path)).status, 200, path);
    }
  });

  test("/docs has every example, and none of it is taken for markup", async () => {
    const page = await (await stack.call("/docs")).text();
    const text = page
      .replaceAll("&quot;", '"')
      .replaceAll("&#39;", "'")
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">")
      .replaceAll("&amp;", "&");
    const [model] = [...stack.gateway.prices.current().models.values()];
    for (const { code } of snippets({ baseUrl: "http://gateway.test", model: model?.id ?? "" })) {
      assert.ok(text.includes(code), code);
    }
  });

  test("/docs and /llms.txt explain every error code, and what a signed message needs", async () => {
    const [page, text] = await Promise.all(["/docs", "/llms.txt"].map(async (path) => (await stack.call(path)).text()));
    const shown = (sentence: string) => String(prose(sentence));
    for (const [code, sentence] of Object.entries(errorMeanings)) {
      assert.ok(page?.includes(shown(sentence)), `/docs says nothing of ${code}`);
      assert.ok(text?.includes(`\`${code}\`: ${sentence}`), `/llms.txt says nothing of ${code}`);
    }
    for (const rule of messageRules({ baseUrl: "http://gateway.test", chainIds: [31337] })) {
      assert.ok(page?.includes(shown(rule)) && text?.includes(rule), rule);
    }
  });

  test("/llms.txt names every route, and begins as such a file does", async () => {
    const text = await (await stack.call("/llms.txt")).text();
    assert.match(text, /^# .+\n\n> .+\n/);
    const { paths } = (await (await stack.call("/openapi.json")).json()) as { paths: Record<string, object> };
    for (const [path, methods] of Object.entries(paths)) {
      for (const method of Object.keys(methods)) assert.ok(text.includes(`${method.toUpperCase()} ${path}`), path);
    }
  });
});
