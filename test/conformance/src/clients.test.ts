import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import OpenAI, { toFile } from "openai";
import { type Account, openAccount, readKey, readReceipt, spentBy } from "./account.ts";
import { clients, otherClients } from "./clients/clients.ts";
import { png, wavOfSilence } from "./documented.ts";
import { checkExchange } from "./exchange.ts";
import { answerRows, type Row, rows } from "./rows.ts";
import { openTarget, type Target } from "./target.ts";
import { makeWire } from "./wire.ts";

/** The tables of the README: each cell is a test, with a key of its own. The fast run has some of the columns. */
let target: Target;
before(async () => {
  target = await openTarget();
});
after(() => target?.close());

describe("clients", { concurrency: true }, () => {
  const columns = [
    ...clients.map((column) => ({ ...column, rows })),
    ...otherClients.map((column) => ({ ...column, rows: answerRows })),
  ];
  for (const [index, { client, missing, rows }] of columns.entries()) {
    describe(client.name, { concurrency: 1, skip: missing ?? false }, () => {
      after(() => client.close?.());
      for (const row of rows) {
        if (client.cannot[row.name] !== undefined) continue;
        test(row.name, async () => {
          const account = await openAccount(target, index % target.wallets.length);
          await runCell(account, row, index % 2 === 0 ? "/v1" : "/api/v1");
        });
      }

      async function runCell(account: Account, row: Row, prefix: string): Promise<void> {
        const { key } = await account.makeKey(row.terms);
        const wire = makeWire();
        const { exchanges } = wire;
        const baseUrl = target.url + prefix;
        const calls = await client.open({ baseUrl, apiKey: key, wire, retries: row.retries ?? 0 });
        let past = 0;
        await row.run(calls, {
          exchanges,
          waitsInside: client.waitsInside === true,
          async holdMost() {
            const done = holdASecond(baseUrl, key).then(async (id) => {
              past = (await readReceipt(target, key, id)).charge_nano_usd;
            });
            while ((await readKey(target, key)).reserved_nano_usd === 0) await sleep(10);
            return { done };
          },
        });
        const leavesEarly = row.leavesEarly === true;
        assert.ok(exchanges.length > 0 || leavesEarly, "nothing was on the wire");
        for (const exchange of exchanges) checkExchange(exchange, target);
        await checkReceipts(key, exchanges.filter(isPaid).map(idOf), { past, leavesEarly });
      }
    });
  }
});

test("the official client sends files: a transcription and an edit", async () => {
  const { key } = await (await openAccount(target, 0)).makeKey();
  const wire = makeWire();
  const client = new OpenAI({ baseURL: `${target.url}/v1`, apiKey: key, fetch: wire.fetch, maxRetries: 0 });
  const file = await toFile(wavOfSilence(), "speech.wav");
  const { text, usage } = await client.audio.transcriptions.create({ model: "sim-transcribe", file });
  assert.match(text, /^A transcript/);
  assert.ok(usage?.type === "duration" && usage.seconds === 0.5);
  const image = await toFile(png(), "a.png", { type: "image/png" });
  const { data = [] } = await client.images.edit({ model: "sim-edit", image, prompt: "x", size: "1024x1024" });
  assert.deepEqual(Buffer.from(data[0]?.b64_json ?? "", "base64").subarray(0, 8), png());
  // The client tries with a `data:` URL whether its `fetch` takes forms.
  const paid = wire.exchanges.filter(isPaid);
  assert.equal(paid.length, 2);
  for (const exchange of paid) checkExchange(exchange, target);
  await checkReceipts(key, paid.map(idOf), { past: 0, leavesEarly: false });
});

/** Each answer with 200 has a receipt, and the receipts add up to the key's spend. */
async function checkReceipts(
  key: string,
  ids: string[],
  { past, leavesEarly }: { past: number; leavesEarly: boolean },
) {
  const spent = await spentBy(target, key);
  const receipts = await Promise.all(ids.map((id) => readReceipt(target, key, id)));
  const charged = receipts.reduce((total, receipt) => total + receipt.charge_nano_usd, past);
  if (leavesEarly) assert.ok(spent >= charged, `${spent} spent, ${charged} charged`);
  else assert.equal(spent, charged, "the receipts and what the key has spent");
}

function isPaid({ method, status }: { method: string; status: number }): boolean {
  return method === "POST" && status === 200;
}

function idOf({ headers }: { headers: Headers }): string {
  return headers.get("x-request-id") ?? "none";
}

async function holdASecond(baseUrl: string, key: string): Promise<string> {
  const messages = [{ role: "user", content: "A word on harbours. [[tokens=5]][[delay=1500]]" }];
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "sim-small", messages, max_tokens: 100 }),
  });
  assert.equal(response.status, 200, await response.text());
  return idOf(response);
}
