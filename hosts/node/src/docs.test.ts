import assert from "node:assert/strict";
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Snippet, snippets } from "@inference/gateway/docs/snippets";
import { hostFor } from "@inference/gateway/test/host-for";
import { settledOf } from "@inference/gateway/test/settlement/audit";
import { inDeepRun, isDeep } from "@inference/protocol/testing/deep";
import { listenLocally } from "@inference/protocol/testing/local-server";
import { startStack, type TestAccount } from "./testing/stack.ts";

/**
 * The examples of the documentation run. They are programs and know nothing of a host: one host is enough. Those with a
 * package of Python's run where `python3` finds the package (`pip install --target DIR`, `PYTHONPATH=DIR`).
 */
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

/** Outside the deep run a command, a program and a client: test/conformance has the other clients. */
const examples = ["curl", "python", "openai"];
if (isDeep) {
  examples.push("openai-python", "anthropic-python", "langchain-python", "anthropic");
  examples.push("ai-sdk", "ai-sdk-openai", "openai-responses", "agents", "langchain");
}

const noPython = spawnSync("python3", ["--version"]).status === 0 ? false : "there is no python3";
const environment = {
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
  ...(process.env.PYTHONPATH !== undefined && { PYTHONPATH: process.env.PYTHONPATH }),
};
const packages: Readonly<Record<string, string>> = {
  "openai-python": "openai",
  "anthropic-python": "anthropic",
  "langchain-python": "langchain_openai",
};

/** The reason why an example cannot run here. */
function cannotRun(id: string): string | false {
  const name = packages[id];
  if (noPython || name === undefined) return id.endsWith("python") && noPython;
  const found = spawnSync("python3", ["-c", `import importlib.util as u; exit(u.find_spec("${name}") is None)`], {
    env: environment,
  });
  return found.status === 0 ? false : `Python has no package ${name}`;
}

let account: TestAccount;
const stack = hostFor(startStack);
before(async () => {
  account = await stack.account(100 * USD);
});

describe("each example, as it is printed, on a key of its own", () => {
  for (const id of examples) {
    test(`${id} answers, and is charged once`, { skip: cannotRun(id) }, async () => {
      const own = await stack.account(USD);
      const { code, language } =
        snippets({ baseUrl: stack.url, model: "sim-small" }).find((snippet) => snippet.id === id) ?? assert.fail();
      const [program, args] = commands[language](code);
      const env = { ...environment, INFERENCE_API_KEY: own.key };
      const { stdout } = await run(program, args, { cwd: root, env, timeout: 60_000 });
      const [settled, ...others] = await settledOf(stack, own.address);
      assert.deepEqual([settled?.detail.basis, settled?.detail.model, others], ["usage", "sim-small", []]);
      const text = (language === "sh" ? contentOf(stdout) : stdout).trim();
      assert.ok(text.length > 3, stdout);
      const again = await stack.call("/v1/chat/completions", { key: account.key, body: hello });
      assert.equal(text, contentOf(await again.text()).trim(), "the simulator answers the same to the same");
    });
  }

  test("python: an error in the stream ends the program with the gateway's words", { skip: noPython }, async () => {
    const { code } =
      snippets({ baseUrl: stack.url, model: "sim-small" }).find(({ id }) => id === "python") ?? assert.fail();
    const env = { ...environment, INFERENCE_API_KEY: account.key };
    const failing = run(...commands.python(code.replace("Hello", "[[fault=error-after-content]]")), { env });
    await assert.rejects(failing, ({ code, stderr }: { code: number; stderr: string }) => {
      assert.equal(code, 1);
      assert.match(stderr, /^[^\n]*provider[^\n]*\n$/i);
      return true;
    });
  });

  test("those with a package of Python's compile, and send only fields that the API has", {
    skip: noPython,
  }, async () => {
    const { paths, components } = (await (await fetch(`${stack.url}/openapi.json`)).json()) as OpenApi;
    const fieldsOf = (path: string): string[] => {
      const { $ref } = paths[path]?.post?.requestBody.content["application/json"].schema ?? assert.fail(path);
      return Object.keys(components.schemas[$ref.split("/").at(-1) ?? ""]?.properties ?? assert.fail($ref));
    };
    const calls: Readonly<Record<string, string>> = {
      "client.chat.completions.create": "/api/v1/chat/completions",
      "client.messages.create": "/api/v1/messages",
      ChatOpenAI: "/api/v1/chat/completions",
    };
    const programs = snippets({ baseUrl: stack.url, model: "sim-small" }).filter(({ id }) => id in packages);
    assert.equal(programs.length, Object.keys(packages).length);
    const codes = programs.map(({ code }) => code);
    const { stdout } = await run("python3", ["-c", CALLS, ...codes], { env: environment });
    const called = JSON.parse(stdout) as [callee: string, fields: string[]][][];
    for (const [index, { id, code, install }] of programs.entries()) {
      assert.match(install ?? "", /^pip install [\w-]+$/);
      assert.ok(code.includes(`base_url="${stack.url}/api`), code);
      const sent = (called[index] ?? []).filter(([callee]) => callee in calls);
      assert.equal(sent.length, 1, stdout);
      for (const [callee, fields] of sent) {
        const ofRequest = fields.filter((field) => field !== "base_url" && field !== "api_key");
        const known = fieldsOf(calls[callee] ?? "");
        assert.ok(ofRequest.includes("model") && ofRequest.includes("max_tokens"), id);
        for (const field of ofRequest) assert.ok(known.includes(field), `${id} sends ${field}`);
      }
    }
  });

  const skip = existsSync(CHROMIUM) ? inDeepRun.skip : `there is no ${CHROMIUM}: apt-get install chromium`;
  test("browser: a page of another origin streams the answer into itself", { skip }, async () => {
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
    const { port, close } = await listenLocally(server);
    const page = `http://localhost:${port}/`;
    const browser = spawn(CHROMIUM, [...CHROMIUM_FLAGS, `--user-data-dir=${profile}`, page], { stdio: "ignore" });
    const ended = once(browser, "exit");
    try {
      const whole = await stack.call("/v1/chat/completions", { key: account.key, body: hello });
      assert.equal(await shown.promise, contentOf(await whole.text()));
      assert.equal((await settledOf(stack, own.address))[0]?.detail.basis, "usage");
    } finally {
      browser.kill();
      await ended;
      await close();
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

const commands: Record<Snippet["language"], (code: string) => [program: string, args: string[]]> = {
  sh: (code) => ["/bin/sh", ["-c", code]],
  python: (code) => ["python3", ["-c", code]],
  js: (code) => [process.execPath, ["--input-type=module", "-e", code]],
};

/** Compiles programs of Python's, and prints the calls of each with the names of their arguments. */
const CALLS = `
import ast, json, sys
def calls(program):
    tree = ast.parse(program)
    compile(tree, "example", "exec")
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
names = lambda call: [ast.unparse(call.func), [each.arg for each in call.keywords]]
print(json.dumps([[names(call) for call in calls(program)] for program in sys.argv[1:]]))
`;

type OpenApi = {
  paths: Record<
    string,
    { post?: { requestBody: { content: { "application/json": { schema: { $ref: string } } } } } } | undefined
  >;
  components: { schemas: Record<string, { properties?: object } | undefined> };
};

function browserSnippet(): string {
  const all = snippets({ baseUrl: stack.url, model: "sim-small" });
  return (all.find(({ id }) => id === "browser") ?? assert.fail()).code;
}

const hello = { model: "sim-small", max_tokens: 50, messages: [{ role: "user", content: "Hello" }] };

function contentOf(text: string): string {
  const { choices } = JSON.parse(text) as { choices: { message: { content: string } }[] };
  return choices[0]?.message.content ?? "";
}
