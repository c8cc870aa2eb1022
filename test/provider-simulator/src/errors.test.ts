import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, chat, chatBody, configure, json, MASTER_KEY, NOON, post, start } from "./client.ts";
import { HEADER_PREFIX } from "./wire.ts";

const body = chatBody("sim-small", "hi");

test("no credential is a 402 with the payment body, a bad one a 401", async () => {
  await using provider = await start();
  for (const path of ["/chat/completions", "/image/generate", "/images/generations", "/audio/speech", "/embeddings"]) {
    const none = await post(provider, path, body, { key: null });
    assert.equal(none.status, 402, path);
    const { x402Version, accepts } = json<{ x402Version: number; accepts: unknown[] }>(none);
    assert.deepEqual([x402Version, accepts.length], [2, 1]);
    const bad = await post(provider, path, body, { key: "wrong" });
    assert.equal(bad.status, 401, path);
    assert.deepEqual(json(bad), { error: "Authentication failed" });
  }
  const basic = await post(provider, "/chat/completions", body, {
    key: null,
    headers: { authorization: `Basic ${MASTER_KEY}` },
  });
  assert.equal(basic.status, 401);
});

test("the content type is looked at before the credential", async () => {
  await using provider = await start();
  const heard = await post(provider, "/chat/completions", body, {
    key: null,
    headers: { "content-type": "text/plain" },
  });
  assert.equal(heard.status, 400);
  assert.deepEqual(json(heard), { error: "'Content-Type' must be 'application/json'" });
});

test("a body that is not a JSON object is refused, and one past 35 MB is too large", async () => {
  await using provider = await start();
  for (const text of ["", "{", "[]", "null", '"x"'])
    assert.equal((await post(provider, "/chat/completions", text)).status, 400, text);
  const large = await post(
    provider,
    "/chat/completions",
    JSON.stringify(chatBody("sim-small", "x".repeat(36 * 1024 * 1024))),
  );
  assert.equal(large.status, 413);
  assert.equal(json<{ code: string }>(large).code, "PAYLOAD_TOO_LARGE");
});

test("paths that are not there are 404, and the bare version path redirects", async () => {
  await using provider = await start();
  for (const path of ["/responses", "/chat/completions/", "/files", "/chat"]) {
    assert.equal((await post(provider, path, body)).status, 404, path);
  }
  assert.equal((await ask(`${provider.url}/chat/completions`)).status, 404);
  const bare = await ask(`${provider.url.replace("/api/v1", "/v1")}/chat/completions`, { body });
  assert.deepEqual([bare.status, bare.headers.location], [301, "/api/v1/chat/completions"]);
  assert.equal((await ask(provider.url.replace("/api/v1", "/"))).status, 404);
});

test("a model that is unknown, unlisted or of another kind is a 404", async () => {
  await using provider = await start();
  await configure(provider, { listed: { "sim-large": false } });
  for (const model of ["si-smol", "sim-embedding", "sim-large"]) {
    assert.equal((await chat(provider, model, "hi")).status, 404, model);
  }
});

test("too many client errors lock a key's model for a user for 30 seconds, and nobody else", async () => {
  let time = NOON;
  await using provider = await start({ clock: () => time, errorBudget: 3 });
  const bad = (user: string, model = "sim-small"): Promise<number> =>
    chat(provider, model, "hi", { user, temperature: 9 }).then((heard) => heard.status);
  const good = (user: string, model = "sim-small"): Promise<number> =>
    chat(provider, model, "hi", { user }).then((heard) => heard.status);
  for (let i = 0; i < 3; i++) assert.equal(await bad("a"), 400);
  assert.equal(await good("a"), 200);
  assert.equal(await bad("a"), 400);
  const locked = await chat(provider, "sim-small", "hi", { user: "a" });
  assert.equal(locked.status, 429);
  assert.match(locked.text, /Too many failed attempts \(> 3\)/);
  assert.equal(locked.headers["retry-after"], undefined);
  assert.deepEqual([await good("b"), await good("a", "sim-large")], [200, 200]);
  time += 30_000;
  assert.equal(await good("a"), 200);
});

test("the error budget can be one of a key, which then blocks every user and model of it", async () => {
  let time = NOON;
  await using provider = await start({ clock: () => time, errorBudget: 3, errorBudgetOf: "key" });
  const ask = (user: string, text: string, model = "sim-small"): Promise<number> =>
    chat(provider, model, text, { user }).then((heard) => heard.status);
  for (const user of ["a", "b", "c"]) assert.equal(await ask(user, "[[fault=422]]"), 422);
  assert.equal(await ask("d", "hi"), 200);
  assert.equal(await ask("a", "[[fault=403-flagged]]"), 403);
  assert.deepEqual([await ask("d", "hi"), await ask("e", "hi", "sim-large")], [429, 429]);
  time += 30_000;
  assert.equal(await ask("d", "hi"), 200);
});

test("the error budget counts no 429 and no 5xx, forgets after 30 seconds, and can be switched off", async () => {
  let time = NOON;
  await using provider = await start({ clock: () => time, errorBudget: 2 });
  for (const fault of ["429", "429", "429", "500", "503", "500"])
    await chat(provider, "sim-small", `[[fault=${fault}]]`);
  assert.equal((await chat(provider, "sim-small", "hi")).status, 200);
  for (let i = 0; i < 6; i++) {
    await chat(provider, "sim-small", "[[fault=400-schema]]");
    time += 20_000;
  }
  assert.equal((await chat(provider, "sim-small", "hi")).status, 200);
  await configure(provider, { errorBudget: null });
  for (let i = 0; i < 6; i++) await chat(provider, "sim-small", "[[fault=400-schema]]");
  assert.equal((await chat(provider, "sim-small", "hi")).status, 200);
});

test("answers carry the provider's headers", async () => {
  await using provider = await start();
  const { headers } = await chat(provider, "sim-small", "hi");
  for (const name of ["balance-usd", "balance-diem", "version", "timestamp", "host-name", "model-id"]) {
    assert.ok(headers[HEADER_PREFIX + name] !== undefined, name);
  }
  for (const name of ["cf-ray", "set-cookie", "x-ratelimit-limit-requests", "x-ratelimit-remaining-tokens"]) {
    assert.ok(headers[name] !== undefined, name);
  }
  assert.equal(headers["x-ratelimit-reset-requests"], String(NOON + 60_000));
});
