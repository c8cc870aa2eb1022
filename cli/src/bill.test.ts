import { deepEqual, equal, match } from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type BillServer, startBillServer } from "@inference/sdk/testing/bill-server";
import { evidenceOf, honestStory, KEY, SETTLEMENT } from "@inference/sdk/testing/told-bill";
import { openStateFolder } from "./state-folder.ts";
import { makeTerminal } from "./testing/in-process.ts";

const honest = evidenceOf(honestStory());
const receipts = honest.log?.receipts ?? [];
const { infer, home, variables, remove } = makeTerminal();
let server: BillServer;
let own: string[] = [];

before(async () => {
  server = await startBillServer(honest);
  own = ["--contract", `1:inferenceSettlement=${SETTLEMENT}`, "--rpc", `1=${server.url}/rpc`];
  writeFileSync(join(home, "log.jsonl"), receipts.map((receipt) => `${JSON.stringify({ receipt })}\n`).join(""));
});
after(async () => {
  await server.close();
  remove();
});

test("the account is verified with a log, and unprovable facts are named first", async () => {
  const signed = ["--gateway", server.url, "--private-key", KEY, ...own];
  const { code, stdout, stderr } = await infer("verify", "--log", "log.jsonl", "--save", "all.json", ...signed);
  equal(code, 0, stdout + stderr);
  match(stdout, /^pass +requests .*: 6 of 6 uses are requests of yours$/m);
  match(stderr, /^No check here can prove:\n- That the provider counted[\s\S]*\nReading the account/);
  const without = await infer("verify", ...signed);
  deepEqual([without.code, /requests/.test(without.stdout)], [0, false]);
  match(without.stderr, /^No check here can prove:\n- That you made these requests/);
});

test("a month's bill is a file that is checked without the gateway, with or without the reader's node", async () => {
  const signed = ["--gateway", server.url, "--private-key", KEY, ...own];
  const { code, stdout } = await infer("bill", "2026-11", "--save", "--log", "log.jsonl", ...signed);
  equal(code, 0, stdout);
  match(stdout, /^2026-11: 6 uses of \$0\.06; 1 of them are not final on chain yet\.$/m);
  server.asked.splice(0);
  const asked = await infer("verify", "infer-bill-2026-11.json", ...own);
  equal(asked.code, 0, asked.stdout);
  deepEqual([...new Set(server.asked)], ["/rpc"]);
  const unasked = await infer("verify", "infer-bill-2026-11.json", ...own.slice(0, 2));
  equal(unasked.code, 0);
  match(unasked.stderr, /^No check here can prove:\n- What the chain says: the file tells it/);
  equal((await infer("verify", "infer-bill-2026-11.json")).code, 3);
  const file = join(home, "infer-bill-2026-11.json");
  writeFileSync(file, readFileSync(file, "utf8").replaceAll('"charge_nano_usd":10000000', '"charge_nano_usd":9999999'));
  equal((await infer("verify", "infer-bill-2026-11.json", ...own)).code, 3);
});

test("an invalid period is an error before any request", async () => {
  for (const period of ["november", "2026-13", "2026-02-30", "2026"]) {
    const { code, stderr } = await infer("bill", period, "--gateway", server.url, "--private-key", KEY);
    deepEqual([period, code], [period, 2]);
    match(stderr, /^A bill is of a UTC day or month, such as 2026-11-23 or 2026-11, not/);
  }
});

test("the state folder's log has the newest receipts, in at most two files", () => {
  const folder = openStateFolder(variables);
  for (let line = 0; line < 10; line++) folder.append("log", `line ${line}`, 20);
  deepEqual(folder.read("log").join("").trim().split("\n"), ["line 6", "line 7", "line 8", "line 9"].slice(-4));
});
