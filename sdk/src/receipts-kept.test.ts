import { deepEqual, equal } from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { listenLocally } from "@inference/protocol/testing/local-server";
import { keepingReceipts, receiptsOf } from "./receipts-kept.ts";
import { billedAt, signedOf } from "./testing/told-bill.ts";

const receipt = signedOf(billedAt(0, "2026-11-02"));
const usage = `data: {"choices":[],"usage":{"cost":0.01,"receipt":"${receipt}"}}\n\n`;
const text = `data: {"choices":[{"delta":{"content":"\\"receipt\\":\\"a.b.c\\" é"}}]}\n\n`;
const answers: Record<string, { type: string; body: string; header?: string }> = {
  "/whole": { type: "application/json", body: "{}", header: receipt },
  "/stream": { type: "text/event-stream", body: `${text}${usage}data: [DONE]\n\n` },
  "/v1/chat/completions": { type: "text/event-stream", body: `${text}${usage}data: [DONE]\n\n` },
  "/without": { type: "text/event-stream", body: `${text}data: [DONE]\n\n` },
};

/** Sends each answer a byte at a time. */
const server = createServer((request, response) => {
  request.resume();
  const { type, body, header } = answers[request.url ?? ""] ?? { type: "text/plain", body: "" };
  response.writeHead(200, { "content-type": type, ...(header === undefined ? {} : { "x-receipt": header }) });
  for (const byte of Buffer.from(body)) response.write(Buffer.of(byte));
  response.end();
});
let url = "";
let close: () => Promise<void>;
before(async () => {
  ({ url, close } = await listenLocally(server));
});
after(() => close());

for (const [path, { body }] of Object.entries(answers)) {
  test(`the answer of ${path} passes unchanged, and its receipt is kept if it has one`, async () => {
    const kept: string[] = [];
    const response = await keepingReceipts((each) => kept.push(each))(url + path);
    equal(await response.text(), body);
    deepEqual(kept, path === "/without" ? [] : [receipt]);
  });
}

test("the program of docs/clients.md logs the receipt of a stream, and the log can be read", async () => {
  const page = readFileSync(new URL("../../docs/clients.md", import.meta.url), "utf8");
  const [, program = ""] = /^## Signed receipts$.*?^```ts$(.*?)^```$/ms.exec(page) ?? [];
  const folder = mkdtempSync(join(import.meta.dirname, "../../node_modules/.receipts-"));
  try {
    writeFileSync(join(folder, "program.mjs"), program.replace("{base_url}", url));
    const env = { ...process.env, OPENAI_API_KEY: "key" };
    await promisify(execFile)(process.execPath, ["program.mjs"], { cwd: folder, env });
    deepEqual(receiptsOf(`${readFileSync(join(folder, "receipts.jsonl"), "utf8")}{"receipt":"cut`), [receipt]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
