import { deepEqual, equal, match } from "node:assert/strict";
import { type StdioOptions, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

/** The command as a process, with each kind of stdin. */
const folder = mkdtempSync(join(tmpdir(), "infer-stdin-"));
const notes = join(folder, "notes");
writeFileSync(notes, "notes\n");

let asked: unknown;
const server = createServer(async (request, response) => {
  asked = (JSON.parse(await text(request)) as { messages: unknown }).messages;
  response.writeHead(200, { "content-type": "text/event-stream", "x-request-id": "req_1" });
  response.end('data: {"choices":[{"delta":{"content":"Yes."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
});
before(async () => {
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
});
after(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

function start(prompt: string[], stdin: "pipe" | number) {
  const gateway = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const main = fileURLToPath(new URL("main.ts", import.meta.url));
  const argv = ["chat", ...prompt, "--model", "any", "--api-key", "ik_none", "--gateway", gateway];
  const stdio: StdioOptions = [stdin, "pipe", "pipe"];
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", main, ...argv], {
    stdio,
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, HOME: folder },
  });
  asked = undefined;
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { child, ended };
}

const user = (content: string) => [{ role: "user", content }];

for (const [what, prompt, piped, messages] of [
  ["text after a prompt", ["Summarise."], "text\n", user("Summarise.\n\ntext\n")],
  ["text without a prompt", [], "text\n", user("text\n")],
  ["nothing after a prompt", ["Hello"], "", user("Hello")],
  ["nothing without a prompt", [], "", undefined],
] as const) {
  test(`${what} is piped: ${messages === undefined ? "there is nothing to ask" : "all of it is asked"}`, async () => {
    const { child, ended } = start([...prompt], "pipe");
    child.stdin?.end(piped);
    equal(await ended, messages === undefined ? 2 : 0);
    deepEqual(asked, messages);
  });
}

for (const [file, content] of [
  [notes, "Summarise.\n\nnotes\n"],
  ["/dev/null", "Summarise."],
] as const) {
  test(`what is read from ${file === notes ? "a file" : file} follows the prompt`, async () => {
    const stdin = openSync(file, "r");
    equal(await start(["Summarise."], stdin).ended, 0);
    closeSync(stdin);
    deepEqual(asked, user(content));
  });
}

test("a pipe that stays open is waited for, and the command says that it waits", async () => {
  const { child, ended } = start(["Summarise."], "pipe");
  child.stdin?.write("first ");
  const [said] = await new Promise<[Buffer]>((resolve) => child.stderr?.once("data", (data) => resolve([data])));
  match(String(said), /^Reading stdin until it ends/);
  equal(asked, undefined);
  child.stdin?.end("second");
  equal(await ended, 0);
  deepEqual(asked, user("Summarise.\n\nfirst second"));
});
