import { deepEqual, equal, match } from "node:assert/strict";
import { type StdioOptions, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { type LocalServer, listenLocally } from "@inference/protocol/testing/local-server";
import { commandFile } from "./testing/command-file.ts";
import { makeTerminal } from "./testing/in-process.ts";
import { openTty, withoutTerminal } from "./testing/terminal.ts";

/** Text on stdin: the prompts of the command in this process, and each kind of stdin of a real process. */
const folder = mkdtempSync(join(tmpdir(), "infer-stdin-"));
const notes = join(folder, "notes");
writeFileSync(notes, "notes\n");

let asked: unknown;
let isEndless = false;
const server = createServer(async (request, response) => {
  asked = (JSON.parse(await text(request)) as { messages: unknown }).messages;
  response.writeHead(200, { "content-type": "text/event-stream", "x-request-id": "req_1" });
  if (isEndless) return void response.write('data: {"choices":[{"delta":{"content":"Once upon"}}]}\n\n');
  response.end('data: {"choices":[{"delta":{"content":"Yes."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
});
let gateway: LocalServer;
before(async () => {
  gateway = await listenLocally(server);
});
after(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true });
});

function chat(...prompt: string[]): string[] {
  asked = undefined;
  return ["chat", ...prompt, "--model", "any", "--api-key", "ik_none", "--gateway", gateway.url];
}

async function start(prompt: string, stdin: "pipe" | number) {
  const stdio: StdioOptions = [stdin, "pipe", "pipe"];
  const child = spawn(process.execPath, [await commandFile(), ...chat(prompt)], {
    stdio,
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, HOME: folder },
  });
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
    const { infer, remove } = makeTerminal({}, { readInput: async () => piped });
    equal((await infer(...chat(...prompt))).code, messages === undefined ? 2 : 0);
    deepEqual(asked, messages);
    remove();
  });
}

for (const [file, content] of [
  [notes, "Summarise.\n\nnotes\n"],
  ["/dev/null", "Summarise."],
] as const) {
  test(`text from ${file === notes ? "a file" : file} follows the prompt`, async () => {
    const stdin = openSync(file, "r");
    equal(await (await start("Summarise.", stdin)).ended, 0);
    closeSync(stdin);
    deepEqual(asked, user(content));
  });
}

test("Ctrl-C stops an answer, and the conversation goes on with what came of it", {
  skip: withoutTerminal,
}, async () => {
  isEndless = true;
  const tty = await openTty(chat(), { HOME: folder });
  await tty.shows(/> [^\n]*$/);
  tty.type("A story.\r");
  await tty.shows(/Once/);
  tty.type("\x03");
  await tty.shows(/Receipt req_1\. You stopped it\.[\s\S]*> [^\n]*$/);
  isEndless = false;
  tty.type("Go on.\r");
  await tty.shows(/Yes\.[\s\S]*> [^\n]*$/);
  const stopped = [{ role: "assistant", content: "Once upon" }, ...user("Go on.")];
  deepEqual(asked, [...user("A story."), ...stopped]);
  tty.type("\x04");
  deepEqual(await tty.ended(), { code: 0, isRestored: true }, tty.screen());
  match(tty.screen(), /2 answers for \$0\.00, and what the receipts/);
});

test("the command waits for an open pipe, and says so", async () => {
  const { child, ended } = await start("Summarise.", "pipe");
  child.stdin?.write("first ");
  const [said] = await new Promise<[Buffer]>((resolve) => child.stderr?.once("data", (data) => resolve([data])));
  match(String(said), /^Reading stdin until it ends/);
  equal(asked, undefined);
  child.stdin?.end("second");
  equal(await ended, 0);
  deepEqual(asked, user("Summarise.\n\nfirst second"));
});
