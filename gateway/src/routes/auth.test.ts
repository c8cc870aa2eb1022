import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import { hashMessage } from "viem";
import {
  type Answer,
  assertError,
  BASE_URL,
  type Fixture,
  KEY_ENDPOINT,
  makeWallet,
  NOW,
  openFixture,
  PRIMARY,
  SECONDARY,
  sign,
} from "../../test/identity-fixture.ts";

const AGENT = "0x00000000000000000000000000000000000000Ab";
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const MINUTE = 60_000;

type Signed = { message: string; signature: string; agentToken?: string | null };

function post(fixture: Fixture, body: Signed): Promise<Answer> {
  return fixture.call("POST", "/auth", { body });
}

describe("signing in", () => {
  test("a signed message gives a session that is valid everywhere at once, and stored under the spec's key", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const token = await fixture.signIn(wallet);
    const entry = fixture.keyValue.get(`session:${token}`);
    assert.deepEqual(JSON.parse(entry?.value ?? ""), { address: wallet.address.toLowerCase(), agentToken: null });
    assert.equal(entry?.expiresAt, NOW + 24 * 60 * MINUTE);
    assert.equal((await fixture.call("GET", "/api/v1/keys", { bearer: token })).status, 200);
  });

  test("the session's token is nowhere in the ledger", async () => {
    const fixture = openFixture();
    const token = await fixture.signIn(makeWallet());
    const [session] = fixture.ledger.all("session");
    assert.ok(session !== undefined && !JSON.stringify(session).includes(token.slice(3)));
  });

  test("a message from a page under the base URL, with a statement and a scheme, is as good", async () => {
    const fixture = openFixture();
    const fields = { scheme: "https", uri: `${BASE_URL}/login`, statement: "Sign in.", chainId: SECONDARY };
    assert.equal((await post(fixture, await sign(makeWallet(), fields))).status, 200);
  });

  test("a server's nonce is good for a message, and two of them differ", async () => {
    const fixture = openFixture();
    const { body } = await fixture.call("GET", "/auth/nonce");
    const other = await fixture.call("GET", "/auth/nonce");
    assert.notEqual(body.nonce, other.body.nonce);
    assert.equal((await post(fixture, await sign(makeWallet(), { nonce: body.nonce ?? "" }))).status, 200);
  });

  test("a failing cache keeps nobody out", async () => {
    const fixture = openFixture();
    fixture.gateway.environment.keyValue.put = async () => {
      throw new Error("no store");
    };
    assert.equal((await post(fixture, await sign(makeWallet()))).status, 200);
  });
});

describe("a message is used once", () => {
  test("again, it is siwe_nonce_used", async () => {
    const fixture = openFixture();
    const signed = await sign(makeWallet());
    assert.equal((await post(fixture, signed)).status, 200);
    assertError(await post(fixture, signed), 401, "siwe_nonce_used");
  });

  test("200 times at once, it opens one session", async () => {
    const fixture = openFixture();
    const signed = await sign(makeWallet());
    const answers = await Promise.all(Array.from({ length: 200 }, () => post(fixture, signed)));
    const codes = answers.map(({ status, body }) => body.error?.code ?? status);
    assert.equal(codes.filter((code) => code === 200).length, 1);
    assert.equal(codes.filter((code) => code === "siwe_nonce_used").length, 199);
    assert.equal(fixture.ledger.all("session").length, 1);
  });

  test("its nonce is another wallet's to use", async () => {
    const fixture = openFixture();
    assert.equal((await post(fixture, await sign(makeWallet(), { nonce: "12345678" }))).status, 200);
    assert.equal((await post(fixture, await sign(makeWallet(), { nonce: "12345678" }))).status, 200);
  });

  test("its nonce is remembered for as long as it could be valid", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const issuedAt = NOW + MINUTE;
    await post(fixture, await sign(wallet, { issuedAt }));
    await post(fixture, await sign(wallet, { expirationTime: NOW + MINUTE }));
    const kept = fixture.ledger.all("nonce").map(({ row }) => row.expiresAt);
    assert.deepEqual(kept.sort(), [NOW + MINUTE, issuedAt + 10 * MINUTE]);
  });
});

describe("a message is for us and for now", () => {
  const refused = [
    ["of another domain", { domain: "evil.example" }, "siwe_domain_mismatch"],
    ["of our domain on another port", { domain: "gateway.example:8443" }, "siwe_domain_mismatch"],
    ["of a domain that ends like ours", { domain: "a.gateway.example" }, "siwe_domain_mismatch"],
    ["with another scheme", { scheme: "http" }, "siwe_domain_mismatch"],
    ["with another URI", { uri: "https://evil.example/" }, "siwe_domain_mismatch"],
    ["with a URI that begins like ours", { uri: `${BASE_URL}.evil.example/` }, "siwe_domain_mismatch"],
    ["with a URI that has us as a user", { uri: `${BASE_URL}@evil.example/` }, "siwe_domain_mismatch"],
    ["of a chain we do not know", { chainId: 1 }, "siwe_chain_unsupported"],
    ["of more than ten minutes ago", { issuedAt: NOW - 10 * MINUTE - 1 }, "siwe_expired"],
    ["issued more than a minute ahead", { issuedAt: NOW + MINUTE + 1 }, "siwe_expired"],
    ["that expires now", { expirationTime: NOW }, "siwe_expired"],
    ["that is not good yet", { notBefore: NOW + 1 }, "siwe_expired"],
    ["that asks for a key", { resources: [`${KEY_ENDPOINT}?limit=5.00`] }, "siwe_malformed"],
    ["that asks for a key without terms", { resources: [KEY_ENDPOINT] }, "siwe_malformed"],
    ["that asks for a key among others", { resources: ["urn:a", KEY_ENDPOINT] }, "siwe_malformed"],
    ["that asks for a key in capitals", { resources: ["HTTPS://GATEWAY.example/api/v1/keys"] }, "siwe_malformed"],
  ] as const;
  for (const [what, fields, code] of refused) {
    test(`one ${what} is ${code}, and its nonce stays unused`, async () => {
      const fixture = openFixture();
      assertError(await post(fixture, await sign(makeWallet(), fields)), 401, code);
      assert.deepEqual(fixture.ledger.all("nonce"), []);
    });
  }

  const accepted = [
    ["of exactly ten minutes ago", { issuedAt: NOW - 10 * MINUTE }],
    ["issued exactly a minute ahead", { issuedAt: NOW + MINUTE }],
    ["that expires in a moment", { expirationTime: NOW + 1 }],
    ["that is good from now on", { notBefore: NOW }],
    ["with a resource that is no key's", { resources: ["https://example.com/terms"] }],
  ] as const;
  for (const [what, fields] of accepted) {
    test(`one ${what} signs in`, async () => {
      assert.equal((await post(openFixture(), await sign(makeWallet(), fields))).status, 200);
    });
  }

  test("a text that is no message is siwe_malformed, also when it is signed", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const { message } = await sign(wallet);
    const texts = [
      "let me in",
      `${message}\n`,
      message.replace(wallet.address, wallet.address.toLowerCase()),
      message.replace("Version: 1", "Version: 2"),
      message.replace(/Nonce: .*/, "Nonce: 1234567"),
      message.replaceAll("\n", "\r\n"),
      message.replace("gateway.example", "gat\u0435way.example"),
    ];
    for (const text of texts) {
      const signature = await wallet.signMessage({ message: text });
      assertError(await post(fixture, { message: text, signature }), 401, "siwe_malformed");
    }
  });
});

describe("the signature", () => {
  test("is good with v of 27, 28, 0 and 1, and in EIP-2098's 64 bytes", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const seen = new Set<number>();
    // Both parities come up; more than 64 signatures of one kind do not.
    for (let round = 0; round < 64 && seen.size < 2; round++) {
      const first = await sign(wallet);
      const parity = Number.parseInt(first.signature.slice(130), 16) - 27;
      if (seen.has(parity)) continue;
      seen.add(parity);
      assert.equal((await post(fixture, first)).status, 200);
      const zero = await signWithParity(parity);
      const bare = `${zero.signature.slice(0, 130)}0${parity}`;
      assert.equal((await post(fixture, { ...zero, signature: bare })).status, 200);
      const compact = await signWithParity(parity);
      assert.equal((await post(fixture, { ...compact, signature: toCompact(compact.signature, parity) })).status, 200);
    }
    assert.equal(seen.size, 2);

    async function signWithParity(parity: number) {
      for (;;) {
        const signed = await sign(wallet);
        if (Number.parseInt(signed.signature.slice(130), 16) - 27 === parity) return signed;
      }
    }
  });

  test("of another wallet, or over another message, is invalid_signature", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const { message } = await sign(wallet);
    const others = [await makeWallet().signMessage({ message }), (await sign(wallet)).signature];
    for (const signature of others) assertError(await post(fixture, { message, signature }), 401, "invalid_signature");
  });

  test("of a wrong length, with a wrong v, or with zeros is invalid_signature", async () => {
    const fixture = openFixture();
    const { message, signature } = await sign(makeWallet());
    const zeros = "0".repeat(64);
    const ones = "f".repeat(64);
    const wrong = [
      "0x",
      signature.slice(0, 128),
      `${signature}00`,
      `${signature.slice(0, 130)}02`,
      `${signature.slice(0, 130)}1d`,
      `0x${zeros}${zeros}1b`,
      `0x${signature.slice(2, 66)}${zeros}1b`,
      `0x${ones}${ones}1b`,
      `0x${zeros.slice(1)}5${signature.slice(66, 130)}1b`,
    ];
    for (const each of wrong) assertError(await post(fixture, { message, signature: each }), 401, "invalid_signature");
  });

  test("mirrored to a high s is invalid_signature, though a contract check would take it", async () => {
    const fixture = openFixture();
    fixture.chain.acceptsSignature = async () => true;
    const { message, signature } = await sign(makeWallet());
    const s = ORDER - BigInt(`0x${signature.slice(66, 130)}`);
    const v = signature.endsWith("1b") ? "1c" : "1b";
    const mirrored = `${signature.slice(0, 66)}${s.toString(16).padStart(64, "0")}${v}`;
    assertError(await post(fixture, { message, signature: mirrored }), 401, "invalid_signature");
  });

  test("of an own key is not asked of a chain, which may be down", async () => {
    const fixture = openFixture();
    fixture.chain.acceptsSignature = async () => {
      throw new ChainUnavailable("down");
    };
    assert.equal((await post(fixture, await sign(makeWallet()))).status, 200);
  });
});

describe("a contract wallet", () => {
  test("is asked for eight at a time: the next is told to come again, and the account's own key is not held up", async () => {
    const fixture = openFixture();
    const answers: ((accepted: boolean) => void)[] = [];
    fixture.chain.acceptsSignature = () => new Promise((resolve) => answers.push(resolve));
    const strange = async () => ({ ...(await sign(makeWallet())), signature: `0x${"ab".repeat(90)}` });
    const asking = await Promise.all(Array.from({ length: 8 }, strange));
    const first = asking.map((body) => post(fixture, body));
    while (answers.length < 8) await new Promise(setImmediate);
    const ninth = await post(fixture, await strange());
    assertError(ninth, 503, "overloaded");
    assert.equal(ninth.headers.get("retry-after"), "1");
    await fixture.signIn(makeWallet());
    for (const resolve of answers) resolve(false);
    for (const answer of await Promise.all(first)) assertError(answer, 401, "invalid_signature");
    fixture.chain.acceptsSignature = async () => true;
    assert.equal((await post(fixture, await strange())).status, 200);
  });

  const signature = `0x${"ab".repeat(200)}`;

  test("signs in if it accepts the signature: the chain is asked for exactly this message", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const { message } = await sign(wallet);
    const asked: unknown[] = [];
    fixture.chain.acceptsSignature = async (query) => {
      asked.push(query);
      return true;
    };
    assert.equal((await post(fixture, { message, signature })).status, 200);
    assert.deepEqual(asked, [{ address: wallet.address, hash: hashMessage(message), signature }]);
    assert.equal(fixture.ledger.all("session")[0]?.row.address, wallet.address.toLowerCase());
  });

  test("that does not accept it is invalid_signature", async () => {
    const fixture = openFixture();
    const { message } = await sign(makeWallet());
    assertError(await post(fixture, { message, signature }), 401, "invalid_signature");
  });

  test("that cannot be asked is chain_unavailable, and the message can be sent again", async () => {
    const fixture = openFixture();
    const { message } = await sign(makeWallet());
    fixture.chain.acceptsSignature = async () => {
      throw new ChainUnavailable("down");
    };
    assertError(await post(fixture, { message, signature }), 503, "chain_unavailable");
    fixture.chain.acceptsSignature = async () => true;
    assert.equal((await post(fixture, { message, signature })).status, 200);
  });

  test("of another chain than the primary opens nobody's account", async () => {
    const fixture = openFixture();
    fixture.chain.acceptsSignature = async () => true;
    const { message } = await sign(makeWallet(), { chainId: SECONDARY });
    const answer = await post(fixture, { message, signature });
    assertError(answer, 401, "invalid_signature");
    assert.match(answer.body.error?.message ?? "", /A contract's wallet signs messages of chain 31337 alone\.$/);
  });
});

test("a message of another chain is told which ones there are, as numbers", async () => {
  const answer = await post(openFixture(), await sign(makeWallet(), { chainId: 1 }));
  const { error } = JSON.parse(answer.text) as { error: { metadata: unknown } };
  assert.deepEqual(error.metadata, { chain_id: 1, chain_ids: [PRIMARY, SECONDARY] });
});

describe("an agent's owner", () => {
  test("gets the agent's session, which manages no keys", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    fixture.chain.agentOwner = async () => wallet.address;
    const token = await fixture.signIn(wallet, { agentToken: AGENT });
    const cached = JSON.parse(fixture.keyValue.get(`session:${token}`)?.value ?? "");
    assert.deepEqual(cached, { address: wallet.address.toLowerCase(), agentToken: AGENT.toLowerCase() });
    assert.equal(fixture.ledger.all("session")[0]?.partition, `identity:agent:${AGENT.toLowerCase()}`);
    const calls = [
      fixture.call("GET", "/api/v1/keys", { bearer: token }),
      fixture.call("PATCH", "/api/v1/keys/key_a", { bearer: token, body: { disabled: true } }),
      fixture.call("DELETE", "/api/v1/keys/key_a", { bearer: token }),
      fixture.call("GET", "/api/v1/credits", { bearer: token }),
    ];
    for (const answer of await Promise.all(calls)) assertError(answer, 403, "wrong_identity");
  });

  test("is nobody else: the message stays unused for who owns it later", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const signed = { ...(await sign(wallet)), agentToken: AGENT };
    fixture.chain.agentOwner = async () => makeWallet().address;
    assertError(await post(fixture, signed), 403, "not_agent_owner");
    assert.equal(fixture.ledger.all("session").length, 0);
    fixture.chain.agentOwner = async () => wallet.address;
    assert.equal((await post(fixture, signed)).status, 200);
  });

  test("of what has no owner is not_agent_owner, and told what to name", async () => {
    const answer = await post(openFixture(), { ...(await sign(makeWallet())), agentToken: AGENT });
    assertError(answer, 403, "not_agent_owner");
    assert.match(answer.body.error?.message ?? "", /has no owner on the primary chain: name a contract there whose/);
  });

  test("is not refused because the chain cannot be read: that is 503", async () => {
    const fixture = openFixture();
    fixture.chain.agentOwner = async () => {
      throw new ChainUnavailable("down");
    };
    const answer = await post(fixture, { ...(await sign(makeWallet())), agentToken: AGENT });
    assertError(answer, 503, "chain_unavailable");
    assert.match(answer.body.error?.message ?? "", /Nothing was charged\. Retry in a few seconds\.$/);
  });
});

describe("signing out", () => {
  test("the session is dead everywhere, and its copy is gone; doing it again is harmless", async () => {
    const fixture = openFixture();
    const token = await fixture.signIn(makeWallet());
    assert.equal((await fixture.call("DELETE", "/auth", { bearer: token })).status, 204);
    assert.equal(fixture.keyValue.size, 0);
    assertError(await fixture.call("GET", "/api/v1/keys", { bearer: token }), 401, "invalid_session");
    assert.equal((await fixture.call("DELETE", "/auth", { bearer: token })).status, 204);
  });

  test("other sessions of the same wallet go on", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const [first, second] = [await fixture.signIn(wallet), await fixture.signIn(wallet)];
    await fixture.call("DELETE", "/auth", { bearer: first });
    assert.equal((await fixture.call("GET", "/api/v1/keys", { bearer: second })).status, 200);
  });

  test("a session ends by itself after a day", async () => {
    const fixture = openFixture();
    const token = await fixture.signIn(makeWallet());
    fixture.time.now = NOW + 24 * 60 * MINUTE - 1;
    assert.equal((await fixture.call("GET", "/api/v1/keys", { bearer: token })).status, 200);
    fixture.time.now += 1;
    assertError(await fixture.call("GET", "/api/v1/keys", { bearer: token }), 401, "session_expired");
  });

  test("takes a session of ours: no credential, a forged token and an API key are refused", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const token = await fixture.signIn(wallet);
    const forged = `${token.slice(0, -1)}${token.endsWith("0") ? "1" : "0"}`;
    const neverOpened = fixture.gateway.credentials.issue("is", wallet.address).text;
    const { key } = await fixture.makeKey(wallet);
    assertError(await fixture.call("DELETE", "/auth"), 401, "missing_credentials");
    assertError(await fixture.call("DELETE", "/auth", { bearer: forged }), 401, "invalid_session");
    assertError(await fixture.call("DELETE", "/auth", { bearer: neverOpened }), 401, "invalid_session");
    assertError(await fixture.call("DELETE", "/auth", { bearer: key }), 403, "wrong_identity");
  });
});

describe("the body", () => {
  const { message, signature } = { message: "m", signature: "0x" };
  const refused: [string, string, string | null][] = [
    ["no JSON", "{", null],
    ["no object", "[]", null],
    ["no message", JSON.stringify({ signature }), "message"],
    ["no signature", JSON.stringify({ message }), "signature"],
    ["a signature that is not hex", JSON.stringify({ message, signature: "0xzz" }), "signature"],
    ["a signature of half a byte", JSON.stringify({ message, signature: "0xabc" }), "signature"],
    ["a signature that is a number", JSON.stringify({ message, signature: 5 }), "signature"],
    ["an agentToken that is no address", JSON.stringify({ message, signature, agentToken: "0x12" }), "agentToken"],
    ["a field of its own", JSON.stringify({ message, signature, admin: true }), "admin"],
    ["a message that is there twice", '{"message":"a","message":"b","signature":"0x"}', "message"],
  ];
  for (const [what, text, param] of refused) {
    test(`with ${what} is 400`, async () => {
      const answer = await openFixture().call("POST", "/auth", { text });
      assert.deepEqual([answer.status, answer.body.error?.param], [400, param], answer.text);
    });
  }

  test("of more than 16 KiB is 413", async () => {
    const text = JSON.stringify({ message: "m".repeat(17_000), signature });
    assertError(await openFixture().call("POST", "/auth", { text }), 413, "request_too_large");
  });

  test("with an agentToken of null is as one without", async () => {
    assert.equal((await post(openFixture(), { ...(await sign(makeWallet())), agentToken: null })).status, 200);
  });
});

/** EIP-2098: the parity in the top bit of s. */
function toCompact(signature: string, parity: number): string {
  const s = BigInt(`0x${signature.slice(66, 130)}`) | (BigInt(parity) << 255n);
  return `${signature.slice(0, 66)}${s.toString(16).padStart(64, "0")}`;
}
