import { equal, match, ok } from "node:assert/strict";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { listenLocally } from "@inference/protocol/testing/local-server";
import { generatePrivateKey } from "viem/accounts";
import { makeTerminal } from "./testing/in-process.ts";

/** A server that is not a gateway, or a broken one. After any answer a command ends with a sentence and with 1. */
const answers: Readonly<Record<string, (response: ServerResponse) => void>> = {
  "a page": (response) => void response.setHeader("content-type", "text/html").end("<!doctype html><h1>Welcome</h1>"),
  "a page that says 404": (response) => void response.writeHead(404, { "content-type": "text/html" }).end("<h1>404"),
  "a redirect": (response) => void response.writeHead(302, { location: "http://127.0.0.1:9/" }).end(),
  "200 with an error": (response) => void response.end('{"error":{"code":"x","message":"No.","param":null}}'),
  "an empty object": (response) => void response.end("{}"),
  null: (response) => void response.end("null"),
  "an empty list": (response) => void response.end("[]"),
  "data of another kind": (response) => void response.end('{"data":"x"}'),
  "an object without fields": (response) => void response.end('{"data":{}}'),
  nothing: (response) => void response.end(),
  "half of an answer": (response) => {
    response.writeHead(200, { "content-length": "100" }).write('{"data":');
    setTimeout(() => response.destroy(), 5);
  },
  "no answer": (response) => void response.destroy(),
};

let answer = (response: ServerResponse): void => void response.end();
const server = createServer((request, response) => {
  request.resume();
  answer(response);
});
const { home, infer, remove } = makeTerminal({ INFERENCE_API_KEY: "ik_none" });
let gateway = "";
let close: () => Promise<void>;

before(async () => {
  ({ url: gateway, close } = await listenLocally(server));
});
after(async () => {
  await close();
  remove();
});

const key = generatePrivateKey();
const signed = ["--private-key", key];
const commands: string[][] = [
  ["status"],
  ["models"],
  ["quote", "alder-4b"],
  ["credits"],
  ["usage"],
  ["receipt"],
  ["receipt", "req_1"],
  ["chat", "Hello"],
  ["chat", "Hello", "--model", "alder-4b"],
  ["setup", "codex", "--dry-run"],
  ["login", ...signed],
  ["keys", "list", ...signed],
  ["keys", "create", ...signed],
  ["wallet", ...signed],
  ["mint", "1", ...signed],
  ["activate", "1", ...signed],
  ["bill", ...signed],
  ["verify", ...signed],
];

for (const [name, give] of Object.entries(answers)) {
  test(`where the gateway answers ${name}, each command says so and ends with 1`, async () => {
    answer = give;
    for (const argv of commands) {
      const what = argv.slice(0, 2).join(" ");
      const { code, stdout, stderr } = await infer(...argv, "--gateway", gateway, "--json");
      equal(code, 1, `${what}: ${stdout}${stderr}`);
      match(stderr, /[.)]\n$/, what);
      ok(!/undefined|TypeError|Cannot read|is not iterable|SyntaxError/.test(stderr), `${what}: ${stderr}`);
      ok(!stderr.includes(key.slice(2)), what);
    }
  });
}

const sse = (...events: string[]) => events.map((event) => `data: ${event}\n\n`).join("");
const part = (content: string) => JSON.stringify({ choices: [{ delta: { content } }] });
const streams: Readonly<Record<string, { text: string; ends: "cleanly" | "cut"; says: RegExp }>> = {
  "is cut": { text: sse(part("Half")), ends: "cut", says: /broke off. `infer receipt req_1` shows/ },
  "ends before it is done": { text: sse(part("Half")), ends: "cleanly", says: /broke off/ },
  "is no JSON": { text: sse(part("Half"), "{"), ends: "cleanly", says: /broke off/ },
  "is null": { text: sse("null", "[DONE]"), ends: "cleanly", says: /broke off/ },
  "says an error": {
    text: sse(part("Half"), '{"error":{"message":"Overloaded."}}'),
    ends: "cut",
    says: /Overloaded\./,
  },
};

for (const [name, { text, ends, says }] of Object.entries(streams)) {
  test(`an answer that ${name} is shown up to that point, and ends with 1`, async () => {
    answer = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream", "x-request-id": "req_1" }).write(text);
      setTimeout(() => (ends === "cut" ? response.destroy() : response.end()), 10);
    };
    const { code, stdout, stderr } = await infer("chat", "Hello", "--model", "alder-4b", "--gateway", gateway);
    equal(code, 1);
    match(stderr, says);
    if (text.includes("Half")) match(stdout, /^Half/);
  });
}

test("text of a model or a gateway does not steer the terminal", async () => {
  const steering = "a\x1b]52;c;aGk=\x07b\x9b2Jc\rd";
  answer = (response) => {
    response.writeHead(200, { "content-type": "text/event-stream", "x-request-id": "req_1" });
    response.end(sse(part(steering), "[DONE]"));
  };
  const { stdout } = await infer("chat", "Hello", "--model", "alder-4b", "--gateway", gateway);
  equal(stdout, "a]52;c;aGk=b2Jcd\n");
  answer = (response) => {
    response.writeHead(401).end(JSON.stringify({ error: { code: "x", message: steering, param: null } }));
  };
  match((await infer("credits", "--gateway", gateway)).stderr, /^a\]52;c;aGk=b2Jcd\n$/);
});

const listing = (model: object) => (response: ServerResponse) => {
  const shown = {
    ...{ id: "a", object: "model", created: 0, owned_by: "b", type: "text", display_name: "a", context_length: 1 },
    ...{ created_at: "2026-11-28T00:00:00Z", max_input_tokens: 1, max_tokens: 1 },
    ...{ pricing: { prompt: "1", completion: "1" }, ...model },
  };
  response.end(JSON.stringify({ data: [shown], ...shown }));
};

test("a name of the gateway fills one cell of a table, in the order of its letters", async () => {
  answer = listing({ id: "a\nb  free\t\u202egnol" });
  const { stdout } = await infer("models", "--gateway", gateway);
  match(stdout, /^model .*\na b free gnol +text/);
});

test("setup writes nothing of a gateway that would be more than a value in a tool's file or in a shell", async () => {
  for (const id of ['a"\n[mcp_servers.b]\ncommand = "sh', "a$(id)", "a;id", "a\\u0022", "a b"]) {
    answer = listing({ id });
    for (const tool of ["codex", "openwebui", "goose"]) {
      const { code, stdout, stderr } = await infer("setup", tool, "--gateway", gateway);
      equal(code, 1, stdout);
      match(stderr, /--model names another/);
    }
  }
  answer = listing({ context_length: '1"\nx="' });
  equal((await infer("setup", "codex", "--gateway", gateway)).code, 1);
  equal((await infer("setup", "openwebui", "--gateway", `${gateway}/$(id)`)).code, 1);
});

test("setup replaces what a project put in the place of its draft and its backup, and follows no link of it", async () => {
  answer = listing({});
  const [own, folder] = [join(home, "own"), join(home, ".claude")];
  mkdirSync(folder);
  writeFileSync(own, "mine");
  writeFileSync(join(folder, "settings.local.json"), "{}");
  for (const name of ["new", "before-infer"]) symlinkSync(own, join(folder, `settings.local.json.${name}`));
  equal((await infer("setup", "claude-code", "--gateway", gateway)).code, 0);
  equal(readFileSync(own, "utf8"), "mine");
  equal(readFileSync(join(folder, "settings.local.json.before-infer"), "utf8"), "{}");
});
