import assert from "node:assert/strict";
import { Agent } from "node:http";
import { after, before, describe, test } from "node:test";
import { getAddress, type Hex, parseSignature, serializeSignature } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { generateSiweNonce } from "viem/siwe";
import { openAccount, readSite, type Site, signed } from "./account.ts";
import { checkExchange, type Exchange } from "./exchange.ts";
import { codeOf, sendRaw } from "./raw.ts";
import { openTarget, type Target } from "./target.ts";

/**
 * Signing in by EIP-4361 and its published test vectors. Each text is signed verbatim, so that only the text can be
 * wrong. A refused message leaves its nonce unused.
 */
const MINUTE = 60_000;
/** Each costs a check of its signature. The deep run has more than are on their way at once. */
const REPLAYS = Number(process.env.FUZZ_REPLAYS ?? (process.env.DEEP === "1" ? 10_000 : 50));

let target: Target;
let site: Site;
let privateKey: Hex;
before(async () => {
  target = await openTarget();
  site = await readSite(target);
  privateKey = target.wallets[2] ?? "0x";
});
after(() => target?.close());

type Edit = (text: string, at: { site: Site; now: number }) => string;

const accepted: Record<string, Edit> = {
  "every optional field": (text) => text,
  "a few optional fields": (text) => without(without(text, "Not Before"), "Request ID"),
  "no optional field": (text) => withoutOptional(text),
  "no statement": (text) => text.replace(/\n\n(.*)\n\nURI/, "\n\n\nURI"),
  "an empty statement": (text) => text.replace(/\n\n(.*)\n\nURI/, "\n\n\n\nURI"),
  "a time without fractions": (text) => text.replace(/\.\d+Z/g, "Z"),
  "a time with six digits of a second": (text) => text.replace(/\.\d+Z/g, ".000123Z"),
  "a time with an offset": (text, { now }) => setField(text, "Issued At", offsetTime(now)),
  "a scheme before the domain": (text, { site }) => text.replace(site.domain, new URL(site.baseUrl).origin),
  "a domain in capitals": (text, { site }) => text.replace(site.domain, site.domain.toUpperCase()),
  "a long nonce": (text) => setField(text, "Nonce", "aB3".repeat(30) + generateSiweNonce()),
  "a resource of another scheme": (text) =>
    `${text}\n- ipfs://bafybeiemxf5abjwjbikoz4mc3a3dla6ual3jsgpdr4cjr3oz3evfyavhwq/`,
};

const refused: Record<string, { edit: Edit; code: string }> = {
  ...malformed({
    "no domain": (text, { site }) => text.replace(site.domain, ""),
    "no address": (text) => text.replace(/\n0x.{40}\n/, "\n\n"),
    ...Object.fromEntries(
      ["URI", "Version", "Chain ID", "Nonce", "Issued At"].flatMap((name): [string, Edit][] => [
        [`no ${name}`, (text) => without(text, name)],
        [`an empty line for ${name}`, (text) => text.replace(new RegExp(`^${name}: .*$`, "m"), "")],
        [`${name} twice`, (text) => text.replace(new RegExp(`^(${name}: .*)$`, "m"), "$1\n$1")],
      ]),
    ),
    ...Object.fromEntries(
      ["URI", "Version", "Chain ID", "Nonce", "Issued At", "Expiration Time", "Not Before", "Request ID"].map(
        (name): [string, Edit] => [`${name} after its place`, (text) => swapWithNext(text, name)],
      ),
    ),
    "an extra line break": (text) => text.replace("\n\n", "\n\n\n"),
    "a statement of two lines": (text) => text.replace("Sign in", "Sign\nin"),
    "a field put into the statement": (text) => text.replace("Sign in", "Sign\n\nURI: https://evil.example"),
    "an address without its capitals": (text) => text.replace(/0x.{40}/, (address) => address.toLowerCase()),
    "a user before the domain": (text, { site }) => text.replace(site.domain, `user@${site.domain}`),
    "a path after the domain": (text, { site }) => text.replace(site.domain, `${site.domain}/path`),
    "a URI that is none": (text) => setField(text, "URI", "_not_a_uri_"),
    "version 2": (text) => setField(text, "Version", "2"),
    "a chain that is no number": (text) => setField(text, "Chain ID", "?"),
    "chain 0": (text) => setField(text, "Chain ID", "0"),
    "a nonce of seven letters": (text) => setField(text, "Nonce", "1234567"),
    "a nonce with a hyphen": (text) => setField(text, "Nonce", "12345-678"),
    ...Object.fromEntries(
      ["Issued At", "Expiration Time", "Not Before"].map((name): [string, Edit] => [
        `${name} as a browser prints it`,
        (text) => setField(text, name, "Wed Oct 05 2011 16:48:00 GMT+0200 (CEST)"),
      ]),
    ),
    "resources on one line": (text) => `${text} - https://example.com/2`,
    "a first resource that is no URI": (text) => text.replace("\n- ", "\n- _not_a_uri_\n- "),
    "a second resource that is no URI": (text) => `${text}\n- _not_a_uri_`,
    "a trailing line feed": (text) => `${text}\n`,
    "lines that end in CR LF": (text) => text.replaceAll("\n", "\r\n"),
    "a look-alike letter in the domain": (text, { site }) =>
      text.replace(site.domain, site.domain.replace(/[a-z]/, "а")),
    "a key's terms among its resources": (text, { site }) => `${text}\n- ${site.baseUrl}/api/v1/keys?limit=1.00`,
    "5,000 letters": (text) => setField(text, "Request ID", "a".repeat(5_000)),
  }),
  "another domain": {
    edit: (text, { site }) => text.replace(site.domain, "evil.example"),
    code: "siwe_domain_mismatch",
  },
  "an address as its domain": {
    edit: (text, { site }) => text.replace(site.domain, "127.0.0.9"),
    code: "siwe_domain_mismatch",
  },
  "another port": {
    edit: (text, { site }) => text.replace(site.domain, `${site.domain.split(":")[0]}:9`),
    code: "siwe_domain_mismatch",
  },
  "a domain below ours": {
    edit: (text, { site }) => text.replace(site.domain, `a.${site.domain}`),
    code: "siwe_domain_mismatch",
  },
  "another scheme": {
    edit: (text, { site }) => text.replace(site.domain, `ftp://${site.domain}`),
    code: "siwe_domain_mismatch",
  },
  "a URI of another site": {
    edit: (text) => setField(text, "URI", "https://evil.example/"),
    code: "siwe_domain_mismatch",
  },
  "another chain": { edit: (text) => setField(text, "Chain ID", "424242"), code: "siwe_chain_unsupported" },
  "a time that has expired": expired("Expiration Time", -1_000),
  "a time before which it is not good": expired("Not Before", MINUTE),
  "an issue time of eleven minutes ago": expired("Issued At", -11 * MINUTE),
  "an issue time two minutes ahead": expired("Issued At", 2 * MINUTE),
};

describe("a message signs in with", () => {
  for (const [name, edit] of Object.entries(accepted)) {
    test(name, async () => {
      const { token } = await tokenOf(await post(await sign(edit(makeText(), { site, now: Date.now() }))));
      assert.match(token, /^is_/);
    });
  }
});

describe("a message is refused with", () => {
  for (const [name, { edit, code }] of Object.entries(refused)) {
    test(`${name}: ${code}`, async () => {
      const text = makeText();
      const edited = edit(text, { site, now: Date.now() });
      assert.notEqual(edited, text, "the edit changed something");
      const answer = await post(await sign(edited));
      assert.deepEqual([answer.status, codeOf(answer)], [401, code]);
      await tokenOf(await post(await sign(text)));
    });
  }
});

describe("a signature is refused", () => {
  const wrong: Record<string, (body: Body) => Promise<Body> | Body> = {
    "of another wallet": async ({ message }) => ({
      message,
      signature: await privateKeyToAccount(`0x${"7".repeat(64)}`).signMessage({ message }),
    }),
    "over another message": async ({ message }) => ({ message, signature: (await sign(`${message}a`)).signature }),
    "with a changed letter": ({ message, signature }) => ({ message, signature: changeDigit(signature, 20) }),
    "of 64 zeros and a v": ({ message }) => ({ message, signature: `0x${"0".repeat(128)}1b` }),
    "without its last byte but one": ({ message, signature }) => ({
      message,
      signature: signature.slice(0, -4) as Hex,
    }),
    "with a byte too many": ({ message, signature }) => ({ message, signature: `${signature}00` }),
    "with a v of 29": ({ message, signature }) => ({ message, signature: `${signature.slice(0, -2)}1d` as Hex }),
    "mirrored to a high s": ({ message, signature }) => ({ message, signature: mirrored(signature) }),
  };
  for (const [name, spoil] of Object.entries(wrong)) {
    test(name, async () => {
      const body = await sign(makeText());
      const answer = await post(await spoil(body));
      assert.deepEqual([answer.status, codeOf(answer)], [401, "invalid_signature"]);
      await tokenOf(await post(body));
    });
  }

  test("that is no hexadecimal, or not there: 400", async () => {
    const { message } = await sign(makeText());
    for (const body of [
      { message, signature: "0xgg" },
      { message, signature: "" },
      { message },
      { signature: "0x" },
      [],
    ]) {
      const answer = await post(body);
      assert.deepEqual([answer.status, codeOf(answer)], [400, "invalid_request"], JSON.stringify(body));
    }
  });
});

describe("one message serves one purpose, once", () => {
  test("a message for a key makes one key, and signs nobody in", async () => {
    const resources = [`${site.baseUrl}/api/v1/keys?name=once`];
    const body = await signed(site, privateKey, { resources });
    assert.equal(codeOf(await post(body)), "siwe_malformed");
    assert.equal((await post(body, "/api/v1/keys")).status, 201);
    assert.equal(codeOf(await post(body, "/api/v1/keys")), "siwe_nonce_used");
  });

  test("a message with a key's new terms raises its limit, which no session can, and does nothing else", async () => {
    const account = await openAccount(target, 2);
    const { id } = await account.makeKey("name=raised&limit=5.00&limit_reset=daily");
    const resources = [`${site.baseUrl}/api/v1/keys/${id}?limit=20.00&limit_reset=monthly`];
    const body = await signed(site, privateKey, { resources });
    for (const path of ["/auth", "/api/v1/keys", `/api/v1/keys/${id}/roll`]) {
      assert.equal(codeOf(await post(body, path)), "siwe_malformed", path);
    }
    const headers = { authorization: `Bearer ${await account.signIn()}`, "content-type": "application/json" };
    const change = { method: "PATCH", path: `/api/v1/keys/${id}`, headers, body: '{"limit":20}' };
    assert.equal(codeOf(await sendRaw(target.url, change)), "invalid_request");
    const raised = await post(body, `/api/v1/keys/${id}/limit`);
    const { data } = JSON.parse(Buffer.from(raised.body).toString()) as { data: Record<string, unknown> };
    assert.deepEqual([data.limit_nano_usd, data.limit_reset], [20_000_000_000, "monthly"]);
    assert.equal(codeOf(await post(body, `/api/v1/keys/${id}/limit`)), "siwe_nonce_used");
  });

  test("a message that signs in makes no key", async () => {
    const body = await signed(site, privateKey, {});
    assert.equal(codeOf(await post(body, "/api/v1/keys")), "siwe_malformed");
    assert.equal((await post(body)).status, 200);
  });

  test("a nonce is used once by a wallet, for whatever purpose", async () => {
    const nonce = generateSiweNonce();
    assert.equal((await post(await signed(site, privateKey, { nonce }))).status, 200);
    const resources = [`${site.baseUrl}/api/v1/keys?name=second`];
    assert.equal(
      codeOf(await post(await signed(site, privateKey, { nonce, resources }), "/api/v1/keys")),
      "siwe_nonce_used",
    );
    assert.equal(codeOf(await post(await signed(site, privateKey, { nonce }))), "siwe_nonce_used");
  });

  test(`${REPLAYS} concurrent replays of one nonce open one session`, async () => {
    const body = JSON.stringify(await signed(site, privateKey, {}));
    const agent = new Agent({ keepAlive: true, maxSockets: 1_000 });
    const headers = { "content-type": "application/json" };
    const answers = await Promise.all(
      Array.from({ length: REPLAYS }, () =>
        sendRaw(target.url, { method: "POST", path: "/auth", headers, body, agent }),
      ),
    );
    agent.destroy();
    const outcomes = answers.map((answer) => `${answer.status} ${codeOf(answer)}`);
    assert.equal(outcomes.filter((outcome) => outcome === "200 undefined").length, 1);
    assert.equal(outcomes.filter((outcome) => outcome === "401 siwe_nonce_used").length, REPLAYS - 1);
  });
});

type Body = { message: string; signature: Hex };

/** A message of all fields that signs in now. */
function makeText(): string {
  const now = Date.now();
  const iso = (ms: number): string => new Date(now + ms).toISOString();
  return [
    `${site.domain} wants you to sign in with your Ethereum account:`,
    getAddress(privateKeyToAccount(privateKey).address),
    "",
    "Sign in to the gateway: https://example.com/terms?a=b",
    "",
    `URI: ${site.baseUrl}/auth`,
    "Version: 1",
    `Chain ID: ${site.chainId}`,
    `Nonce: ${generateSiweNonce()}`,
    `Issued At: ${iso(0)}`,
    `Expiration Time: ${iso(5 * MINUTE)}`,
    `Not Before: ${iso(-MINUTE)}`,
    "Request ID: some-id",
    "Resources:",
    "- https://example.com/claim.json",
  ].join("\n");
}

async function sign(message: string): Promise<Body> {
  return { message, signature: await privateKeyToAccount(privateKey).signMessage({ message }) };
}

async function post(body: unknown, path = "/auth"): Promise<Exchange> {
  const headers = { "content-type": "application/json" };
  const answer = await sendRaw(target.url, { method: "POST", path, headers, body: JSON.stringify(body) });
  checkExchange(answer, target);
  return answer;
}

async function tokenOf({ status, body }: Exchange): Promise<{ token: string }> {
  const text = Buffer.from(body).toString();
  assert.equal(status, 200, text);
  return JSON.parse(text) as { token: string };
}

function malformed(edits: Record<string, Edit>): typeof refused {
  return Object.fromEntries(Object.entries(edits).map(([name, edit]) => [name, { edit, code: "siwe_malformed" }]));
}

function expired(field: string, ms: number): { edit: Edit; code: string } {
  const edit: Edit = (text, { now }) => setField(text, field, new Date(now + ms).toISOString());
  return { edit, code: "siwe_expired" };
}

function setField(text: string, name: string, value: string): string {
  return text.replace(new RegExp(`^${name}: .*$`, "m"), () => `${name}: ${value}`);
}

function without(text: string, name: string): string {
  return text.replace(new RegExp(`^${name}: .*\n`, "m"), "");
}

function withoutOptional(text: string): string {
  return text.slice(0, text.indexOf("\nExpiration Time: "));
}

function swapWithNext(text: string, name: string): string {
  return text.replace(new RegExp(`^(${name}: .*)\n(.*(?:\n- .*)*)`, "m"), "$2\n$1");
}

function offsetTime(now: number): string {
  return new Date(now + 2 * 60 * MINUTE).toISOString().replace("Z", "+02:00");
}

function changeDigit(signature: Hex, at: number): Hex {
  const digit = signature[at] === "1" ? "2" : "1";
  return `${signature.slice(0, at)}${digit}${signature.slice(at + 1)}` as Hex;
}

/** The other signature that anyone can make of one. */
function mirrored(signature: Hex): Hex {
  const { r, s, yParity } = parseSignature(signature);
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  return serializeSignature({ r, s: `0x${(order - BigInt(s)).toString(16).padStart(64, "0")}`, yParity: 1 - yParity });
}
