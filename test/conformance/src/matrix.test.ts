import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Account, openAccount, readKey, readReceipt, spentBy } from "./account.ts";
import { type DocumentedRoute, paidBodies, prefixes, undocumentedPaths, writeBody } from "./documented.ts";
import { readDocumentedRoutes } from "./documented-routes.ts";
import { checkExchange, type Exchange } from "./exchange.ts";
import { codeOf, sendRaw } from "./raw.ts";
import { openTarget, type Target } from "./target.ts";

/**
 * Every path with every method and every kind of credential: what is not documented is refused. The fast run sends the
 * valid kinds of credential, none and one of the wrong kinds in turn to the documented operations below one prefix, and
 * one kind to the other methods and aliases.
 */
const isDeep = process.env.DEEP === "1";
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"];

/** A kind of credential, and its refusal on every route; undefined for valid kinds. */
type Kind = keyof typeof refusals;
const refusals = {
  none: "401 missing_credentials",
  "another scheme": "401 missing_credentials",
  nonsense: "401 invalid_api_key",
  "a key with a typing error": "401 invalid_api_key",
  "a revoked key": "401 invalid_api_key",
  "an expired key": "401 key_expired",
  "a disabled key": "403 key_disabled",
  "a session with a typing error": "401 invalid_session",
  "an ended session": "401 invalid_session",
  "a key": undefined,
  "a session": undefined,
  "an agent's session": undefined,
} as const;
const kinds = Object.keys(refusals) as Kind[];
const FEW: readonly Kind[] = ["none", "a key"];
const VALID = kinds.filter((kind) => refusals[kind] === undefined);
const WRONG = kinds.filter((kind) => refusals[kind] !== undefined && kind !== "none");

let target: Target;
let routes: readonly DocumentedRoute[];
let paths: readonly string[];
let account: Account;
let session: string;
let headers: Record<Kind, () => Promise<Record<string, string>>>;

before(async () => {
  target = await openTarget();
  routes = await readDocumentedRoutes(target.url);
  paths = [...new Set(routes.map(({ path }) => path))];
  account = await openAccount(target, 0);
  session = await account.signIn();
  headers = await makeCredentials();
});
after(() => target?.close());

test("each documented path, with every method and credential, does what is documented or refuses", async (context) => {
  let turn = 0;
  const inTurn = (all: readonly Kind[]): Kind => all[turn++ % all.length] ?? "none";
  for (const path of paths) {
    await context.test(path, async () => {
      const wrong: string[] = [];
      for (const method of methods) {
        const route = routes.find((each) => each.path === path && each.method === routeMethod(method));
        const isAlias = path.startsWith("/v1/") || method === "HEAD";
        const some = route === undefined || isAlias ? [inTurn(FEW)] : ["none" as const, ...VALID, inTurn(WRONG)];
        for (const kind of isDeep ? kinds : some) {
          if (kind === "an agent's session" && target.agentToken === null) continue;
          const exchange = await send(method, path, await headers[kind]());
          const wanted = route === undefined ? "405 method_not_allowed" : outcomeOf(route, kind);
          const got = describeOutcome(exchange);
          const isWanted =
            method === "HEAD" ? got.startsWith(wanted.slice(0, 3)) : new RegExp(`^(${wanted})$`).test(got);
          if (!isWanted) wrong.push(`${method} ${path} with ${kind}: ${got}, not ${wanted}`);
        }
      }
      assert.deepEqual(wrong, []);
    });
  }
});

test("a path that nobody documented is 404 with every method and credential", async () => {
  const wrong: string[] = [];
  for (const path of undocumentedPaths) {
    for (const method of methods) {
      for (const kind of FEW) {
        const exchange = await send(method, path, await headers[kind]());
        const got = describeOutcome(exchange);
        if (got !== (method === "HEAD" ? "404 undefined" : "404 not_found"))
          wrong.push(`${method} ${path} with ${kind}: ${got}`);
      }
    }
  }
  assert.deepEqual(wrong, []);
});

test("every path answers a browser's question beforehand, and says no more", async () => {
  for (const path of [...paths, ...undocumentedPaths]) {
    const exchange = await sendRaw(target.url, {
      method: "OPTIONS",
      path,
      headers: { origin: "http://elsewhere.test" },
    });
    assert.deepEqual([exchange.status, exchange.body.length], [204, 0], path);
    checkExchange(exchange, target);
  }
});

const spellings = ["/", "?a=b", "?", "/?model=sim-large", "//", "/.", "/x/..", "%2f", "#a"];

test("no spelling of a paid path gets past its validation or its bill", async () => {
  const { key } = await account.makeKey();
  let served = 0;
  for (const [index, [path, body]] of Object.entries(paidBodies).entries()) {
    // The route is found before the body is read: the fast run takes the prefixes in turn.
    const below = isDeep ? prefixes : [prefixes[index % 2]];
    for (const spelling of below.flatMap((prefix) => spellingsOf(`${prefix}${path}`))) {
      const spent = (await readKey(target, key)).usage_nano_usd;
      const post = (fields: object): Promise<Exchange> => {
        const { type, body } = writeBody(fields);
        const headers = { authorization: `Bearer ${key}`, "content-type": type };
        return sendRaw(target.url, { method: "POST", path: spelling, headers, body });
      };
      const refused = await post({ ...body, model: "sim-unpriced" });
      assert.equal(refused.status, 404, spelling);
      const answer = await post(body);
      if (answer.status === 404) continue;
      assert.equal(answer.status, 200, spelling);
      served += 1;
      const charge = (await readReceipt(target, key, answer.headers.get("x-request-id") ?? "")).charge_nano_usd;
      assert.ok(charge > 0, `${spelling} was free`);
      assert.equal(await spentBy(target, key), spent + charge, spelling);
    }
  }
  assert.ok(served >= Object.keys(paidBodies).length, `${served} spellings were served`);
});

test("headers that ask for another method, path or host change nothing", async () => {
  const { key } = await account.makeKey();
  const tricks: Record<string, string>[] = [
    { "x-http-method-override": "POST" },
    { "x-method-override": "POST" },
    { "x-original-url": "/api/v1/keys" },
    { "x-rewrite-url": "/api/v1/keys" },
    { "x-forwarded-host": "elsewhere.test", "x-forwarded-prefix": "/admin" },
    { "x-portkey-custom-host": "http://elsewhere.test", "x-base-url": "http://elsewhere.test" },
    { cookie: `session=${session}` },
    { host: "elsewhere.test" },
  ];
  for (const trick of tricks) {
    const what = JSON.stringify(trick);
    const get = await send("GET", "/v1/chat/completions", { authorization: `Bearer ${key}`, ...trick });
    assert.equal(describeOutcome(get), "405 method_not_allowed", what);
    const models = await send("GET", "/v1/models", trick);
    assert.equal(models.status, 200, what);
    const keys = await send("GET", "/api/v1/keys", trick);
    assert.equal(describeOutcome(keys), "401 missing_credentials", what);
  }
  assert.equal(await spentBy(target, key), 0);
});

test("a host of which no address can be made is refused, whatever is asked for", async () => {
  const { key } = await account.makeKey();
  for (const host of ["a b", "a:99999", "[", "[::", "a:b", "%%%"]) {
    for (const [method, path] of [
      ["GET", "/api/v1/credits"],
      ["POST", "/v1/chat/completions"],
      ["GET", "/nowhere"],
    ] as const) {
      const refused = await send(method, path, { authorization: `Bearer ${key}`, host });
      assert.equal(describeOutcome(refused), "400 invalid_request", `${method} ${path} at ${host}`);
    }
  }
  assert.equal(await spentBy(target, key), 0);
});

test("no identity reads, changes or spends what is another's", async () => {
  const other = await openAccount(target, 1);
  const [mine, theirs, theirSession] = await Promise.all([account.makeKey(), other.makeKey(), other.signIn()]);
  const before = await readKey(target, theirs.key);
  const answer = await send("POST", "/v1/chat/completions", { authorization: `Bearer ${mine.key}` });
  assert.equal(answer.status, 200);
  const id = answer.headers.get("x-request-id") ?? "";
  assert.ok((await readReceipt(target, mine.key, id)).charge_nano_usd > 0);

  const receipt = await send("GET", `/api/v1/generation?id=${id}`, { authorization: `Bearer ${theirs.key}` });
  assert.equal(describeOutcome(receipt), "404 not_found");
  const asThem = { authorization: `Bearer ${theirSession}` };
  for (const method of ["PATCH", "DELETE"]) {
    const change = await send(method, `/api/v1/keys/${mine.id}`, asThem);
    assert.equal(describeOutcome(change), "404 not_found", method);
  }
  const listed = Buffer.from((await send("GET", "/api/v1/keys", asThem)).body).toString();
  assert.ok(listed.includes(theirs.id) && !listed.includes(mine.id));
  assert.ok(!listed.includes(theirs.key), "a key's text is shown once");
  assert.deepEqual(await readKey(target, theirs.key), before);
  assert.ok((await readKey(target, mine.key)).usage_nano_usd > 0, "the key still works");
});

async function makeCredentials(): Promise<typeof headers> {
  const expiresAt = Date.now() + 3_000;
  const expired = await account.makeKey(`expires_at=${new Date(expiresAt).toISOString()}`);
  const [good, revoked, disabled] = await Promise.all([account.makeKey(), account.makeKey(), account.makeKey()]);
  const asWallet = { authorization: `Bearer ${session}` };
  const paths = { revoked: `/api/v1/keys/${revoked.id}`, disabled: `/api/v1/keys/${disabled.id}` };
  assert.equal((await send("DELETE", paths.revoked, asWallet)).status, 200);
  const disable = {
    method: "PATCH",
    path: paths.disabled,
    headers: { ...asWallet, ...json },
    body: '{"disabled":true}',
  };
  assert.equal((await sendRaw(target.url, disable)).status, 200);
  const ended = await account.signIn();
  assert.equal((await send("DELETE", "/auth", { authorization: `Bearer ${ended}` })).status, 204);
  await sleep(expiresAt + 100 - Date.now());
  const bearer = (text: string) => async () => ({ authorization: `Bearer ${text}` });
  return {
    none: async () => ({}),
    "another scheme": async () => ({ authorization: `Basic ${good.key}` }),
    nonsense: bearer("nonsense"),
    "a key with a typing error": bearer(mistyped(good.key)),
    "a revoked key": bearer(revoked.key),
    "an expired key": bearer(expired.key),
    "a disabled key": bearer(disabled.key),
    "a session with a typing error": bearer(mistyped(session)),
    "an ended session": bearer(ended),
    "a key": bearer(good.key),
    "a session": bearer(session),
    "an agent's session": async () => bearer(await account.signIn(target.agentToken ?? undefined))(),
  };
}

const json = { "content-type": "application/json" };

/** A request that would be good if it were documented. */
async function send(method: string, path: string, credential: Record<string, string>): Promise<Exchange> {
  const isEnding = method === "DELETE" && path === "/auth" && credential.authorization === `Bearer ${session}`;
  // Ending the session ends it for the tests after this one too.
  const sent = isEnding ? { authorization: `Bearer ${await account.signIn()}` } : credential;
  const hasBody = method !== "GET" && method !== "HEAD" && method !== "TRACE";
  const body = path.includes("/keys/") ? { name: "renamed" } : (paidBody(path) ?? {});
  const written = writeBody(body);
  const exchange = await sendRaw(target.url, {
    method,
    path: path.replace(/\{\w+\}/g, "key_nobody"),
    headers: { "content-type": written.type, ...sent },
    ...(hasBody ? { body: written.body } : {}),
  });
  checkExchange(exchange, target);
  return exchange;
}

function paidBody(path: string): object | undefined {
  return paidBodies[path.replace(/^\/(api\/)?v1/, "")];
}

function routeMethod(method: string): string {
  return method === "HEAD" ? "GET" : method;
}

function describeOutcome(exchange: Exchange): string {
  return exchange.status < 400 ? String(exchange.status) : `${exchange.status} ${codeOf(exchange)}`;
}

/** As a pattern of `describeOutcome`. */
function outcomeOf({ path, method, use, needsQuery }: DocumentedRoute, kind: Kind): string {
  const refusal = refusals[kind];
  const done = doneOf(method, path);
  // There is no such file.
  if (path === "/assets/{name}" || path === "/docs/{page}") return "404 not_found";
  // Nothing in the path is an address here.
  if (use === "public") return needsQuery || path.includes("{") ? "400 invalid_request" : "200";
  if ((use === "models" || use === "own") && kind === "none") return done;
  if (use === "signed") return "400 invalid_request";
  if (use === "operator") return "404 not_found|401 (missing_credentials|invalid_api_key)";
  // Ending a session again is harmless.
  if (use === "session" && kind === "an ended session") return done;
  if (refusal !== undefined) return refusal;
  if (use === "models") return done;
  if (use === "own") return kind === "an agent's session" ? wrongIdentity : done;
  if (use === "paid" && paidBody(path) === undefined) return "400 \\w+";
  if (use === "paid") return kind === "a key" ? "200" : "200|402 capacity_exhausted";
  if (needsQuery) return "400 invalid_request";
  if (use === "reader") return "200";
  if (use === "account") return kind === "an agent's session" ? wrongIdentity : "200";
  return isKey(kind) || (use === "personal" && kind === "an agent's session") ? wrongIdentity : done;
}

function doneOf(method: string, path: string): string {
  if (method === "DELETE" && path === "/auth") return "204";
  // A webhook needs a URL, and a message of MCP a method.
  if (method === "POST" && ["/api/v1/webhooks", "/mcp"].includes(path)) return "400 invalid_request";
  return path.includes("{") ? "404 not_found" : "200";
}

const wrongIdentity = "403 wrong_identity";

function isKey(kind: Kind): boolean {
  return kind.endsWith(" key");
}

function spellingsOf(path: string): string[] {
  const inside = [path.replace("/v1/", "/v1//"), path.replace("/v1/", "/v1/./"), `/x/..${path}`, `/${path}`];
  const escaped = path.replace("c", "%63").replace("e", "%65");
  return [...spellings.map((end) => path + end), ...inside, escaped, path.toUpperCase(), path];
}

/** The last letter of its checksum is another. */
function mistyped(credential: string): string {
  return credential.slice(0, -1) + (credential.endsWith("0") ? "1" : "0");
}
