import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { openAccount, readReceipt, spentBy } from "../account.ts";
import { checkExchange, type Exchange } from "../exchange.ts";
import { isOfFront } from "../front.ts";
import { openTarget, type Target } from "../target.ts";

/**
 * Bytes on a connection: a request with accidents, or no request. The gateway answers as usual, or a program in front of
 * it refuses. Each served request has a receipt.
 */
const isDeep = process.env.DEEP === "1";
const CONNECTIONS = Number(process.env.FUZZ_CONNECTIONS ?? (isDeep ? 50_000 : 200));
/** Some are whole requests, and an account has at most 32 in flight. */
const AT_ONCE = 100;
/** A client that half-closes its connection counts as gone, so the test does so only after this silence. */
const SILENCE_MS = 3_000;
const seed = Number(process.env.FUZZ_SEED ?? 1);

let target: Target;
before(async () => {
  target = await openTarget();
});
after(() => target?.close());

const accident = fc.oneof(
  fc.constantFrom("\r\n", "\n", "\r", "\0", " ", ":", "HTTP/1.0", "HTTP/2.0", "Host: a\r\n", "Content-Length: 3\r\n"),
  fc.constantFrom("Transfer-Encoding: chunked\r\n", "Transfer-Encoding: gzip, chunked\r\n", "Expect: 100-continue\r\n"),
  fc.constantFrom(
    "Connection: close\r\n",
    "Connection: Authorization\r\n",
    "Upgrade: websocket\r\n",
    "a: b\r\n".repeat(300),
  ),
  fc.constantFrom("GET /api/v1/keys HTTP/1.1\r\nHost: a\r\n\r\n", "\xff\xfe", "0\r\n\r\n", "5\r\nhello\r\n", "é"),
  fc.string({ maxLength: 4, unit: "binary-ascii" }),
);
const edits = fc.array(fc.tuple(fc.nat(600), fc.nat(8), accident), { minLength: 0, maxLength: 3 });
/** Invalid hosts, which accidents seldom make. */
const hosts = ["a b", "a:99999", "[", "a\r\nHost: b", ""];
const strange = hosts.map((host) => `GET /api/v1/credits HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
const sent = fc.oneof(
  { weight: 9, arbitrary: edits.map((list) => (key: string) => edited(requestText(key), list)) },
  {
    weight: 1,
    arbitrary: fc.uint8Array({ maxLength: 300 }).map((bytes) => () => Buffer.from(bytes).toString("latin1")),
  },
);

test(`${CONNECTIONS} connections with bytes of every kind (seed ${seed})`, async (context) => {
  const account = await openAccount(target, 3);
  const { key } = await account.makeKey();
  const counts = new Map<string, number>();
  const paid: string[] = [];
  const intact = requestText(key);
  const queue = [...strange, ...fc.sample(sent, { numRuns: CONNECTIONS, seed }).map((make) => make(key))];
  let fronted = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let text = queue.pop(); text !== undefined; text = queue.pop()) {
        const answers = await exchange(text);
        for (const answer of answers) {
          const isFronted = isOfFront(answer, target.front);
          if (isFronted) fronted += 1;
          assert.ok(!(isFronted && text === intact), `${target.front} answered a request that nothing is wrong with`);
          const outcome = isFronted ? `${answer.status} by ${target.front}` : String(answer.status);
          counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
          if (answer.status === 200) paid.push(answer.headers.get("x-request-id") ?? "none");
        }
      }
    }),
  );
  const spent = await spentBy(target, key);
  const receipts = await Promise.all(paid.map((id) => readReceipt(target, key, id)));
  const charged = receipts.reduce((total, receipt) => total + receipt.charge_nano_usd, 0);
  context.diagnostic([...counts].map(([status, count]) => `${count} x ${status}`).join(", "));
  assert.ok(paid.length > CONNECTIONS / 20, `${paid.length} were served`);
  assert.equal(spent, charged);
  assert.ok(fronted < (CONNECTIONS * 3) / 4, `${target.front} gave ${fronted} answers: little of the gateway was seen`);
});

function requestText(key: string): string {
  const body = JSON.stringify({
    model: "sim-small",
    max_tokens: 5,
    messages: [{ role: "user", content: "[[tokens=2]]" }],
  });
  return [
    "POST /v1/chat/completions HTTP/1.1",
    "Host: gateway.test",
    `Authorization: Bearer ${key}`,
    "Content-Type: application/json",
    "Connection: close",
    `Content-Length: ${body.length}`,
    "",
    body,
  ].join("\r\n");
}

function edited(text: string, list: readonly [number, number, string][]): string {
  return list.reduce((before, [at, removed, inserted]) => {
    const place = at % (before.length + 1);
    return before.slice(0, place) + inserted + before.slice(place + removed);
  }, text);
}

/** Sends the bytes, and reads until the other side has ended. */
async function exchange(text: string): Promise<Exchange[]> {
  const came = await sendBytes(text).catch((cause: unknown) => {
    throw new Error(`no end after ${JSON.stringify(text)}`, { cause });
  });
  try {
    // A gateway that is busy says first that it is at work.
    const answers = parseAnswers(came).filter(({ status }) => status >= 200);
    for (const answer of answers) {
      if (isOfFront(answer, target.front)) continue;
      checkExchange(answer, target);
      assert.ok(answer.status < 500, `${answer.status}`);
    }
    return answers;
  } catch (cause) {
    throw new Error(`${JSON.stringify(text)} was answered ${JSON.stringify(came.toString("latin1"))}`, { cause });
  }
}

function sendBytes(text: string): Promise<Buffer> {
  const { hostname, port } = new URL(target.url);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    socket.setTimeout(SILENCE_MS, () => {
      if (socket.writableEnded) socket.destroy(new Error(`no end within ${SILENCE_MS} ms`));
      else socket.end();
    });
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.on("end", () => socket.destroy());
    // A reset is an end too: it comes where bytes were left unread.
    socket.on("error", (error: NodeJS.ErrnoException) => (error.code === "ECONNRESET" ? undefined : reject(error)));
    socket.on("close", () => resolve(Buffer.concat(chunks)));
    socket.write(text, "latin1");
  });
}

/** The answers one after the other, by their lengths. All are whole JSON answers here. */
function parseAnswers(bytes: Buffer): Exchange[] {
  const answers: Exchange[] = [];
  let rest = bytes;
  while (rest.length > 0) {
    const end = rest.indexOf("\r\n\r\n");
    const [first = "", ...lines] = rest.subarray(0, end).toString("latin1").split("\r\n");
    const [, version, code] = /^HTTP\/1\.([01]) (\d{3}) /.exec(first) ?? [];
    const status = Number(code);
    assert.ok(end !== -1 && status > 0, "what came is no answer");
    // A program in front of the gateway may answer with the request's version.
    assert.ok(version === "1" || target.front !== null, "HTTP/1.0");
    rest = rest.subarray(end + 4);
    if (status === 100) continue;
    const headers = new Headers(
      lines.map((line): [string, string] => [line.replace(/:.*/s, ""), line.replace(/^[^:]*: /s, "")]),
    );
    const length = Number(headers.get("content-length"));
    answers.push({ method: "POST", path: "/", status, headers, body: rest.subarray(0, length), whole: true });
    rest = rest.subarray(length);
  }
  return answers;
}
