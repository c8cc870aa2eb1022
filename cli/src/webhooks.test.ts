import { deepEqual, equal, match } from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { shareDevnet, type TestedDevnet } from "@inference/devnet/testing/shared-devnet";
import { eventually } from "@inference/protocol/testing/eventually";
import { listenLocally } from "@inference/protocol/testing/local-server";
import { makeTerminal } from "./testing/in-process.ts";

let devnet: TestedDevnet;
const terminals: { remove(): void }[] = [];

before(async () => {
  devnet = await shareDevnet(3);
});
after(() => {
  for (const terminal of terminals) terminal.remove();
});

test("a webhook is added, tested, told of a credit by the gateway's process, logged and removed", async () => {
  const received: string[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    received.push((JSON.parse(body) as { type: string }).type);
    response.writeHead(received.length === 2 ? 500 : 204).end();
  });
  await using receiver = await listenLocally(server);
  const url = `${receiver.url}/`;
  const terminal = makeTerminal({ DEVNET_DIR: devnet.folder });
  terminals.push(terminal);
  const { infer } = terminal;
  const wallet = ["--devnet", "--wallet", "2"];
  equal((await infer("login", ...wallet)).code, 0);
  const early = await infer("webhooks", "add", url);
  deepEqual([early.code, early.stderr.includes("never had a credit")], [1, true], early.stderr);
  equal((await infer("mint", "2")).code, 0);
  equal((await infer("activate", "1")).code, 0);
  const added = await infer("webhooks", "add", url, "--event", "credit.added");
  match(added.stdout, /^whsec_[\w+/]{43}=\nwh_\w+: credit\.added\n$/);
  const id = /wh_\w+/.exec(added.stdout)?.[0] ?? "";
  match((await infer("webhooks", "list")).stdout, new RegExp(`^${id} +${url} +credit\\.added`, "m"));
  equal((await infer("webhooks", "test", id)).stdout, "Delivered: 204.\n");
  deepEqual(await infer("webhooks", "test", id), { code: 1, stdout: "Not delivered: 500.\n", stderr: "" });
  equal((await infer("activate", "1")).code, 0);
  await eventually(() => received[2] === "credit.added");
  await eventually(async () => / credit\.added .* delivered /.test((await infer("webhooks", "log")).stdout));
  match((await infer("webhooks", "add", url, "--event", "x")).stderr, /^--event takes balance\.low, /);
  equal((await infer("webhooks", "remove", id)).stdout, `${id} is removed.\n`);
  equal((await infer("webhooks", "remove", id)).code, 1);
});
