import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { getAddress } from "viem";
import { createSiweMessage } from "viem/siwe";
import type { Address } from "./credential.ts";
import { formatSiweMessage, MAX_SIWE_LENGTH, parseSiweMessage, type SiweMessage } from "./siwe.ts";

const ADDRESS = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2";
const MINIMAL = `example.com wants you to sign in with your Ethereum account:
${ADDRESS}


URI: https://example.com/login
Version: 1
Chain ID: 1
Nonce: 32891756
Issued At: 2021-09-30T16:25:24Z`;
const FULL = `https://example.com:3388 wants you to sign in with your Ethereum account:
${ADDRESS}

I accept the ExampleOrg Terms of Service: https://example.com/tos

URI: https://example.com/login
Version: 1
Chain ID: 8453
Nonce: 32891756abcXYZ
Issued At: 2021-09-30T16:25:24.123Z
Expiration Time: 2021-09-30T18:25:24+01:00
Not Before: 2021-09-30T10:25:24-06:00
Request ID: some-id:@!$
Resources:
- ipfs://bafybeiemxf5abjwjbikoz4mc3a3dla6ual3jsgpdr4cjr3oz3evfyavhwq/
- https://example.com/my-web2-claim.json?limit=5.00&name=my%20laptop#top`;

const minimal: SiweMessage = {
  domain: "example.com",
  address: ADDRESS,
  uri: "https://example.com/login",
  version: "1",
  chainId: 1,
  nonce: "32891756",
  issuedAt: Date.UTC(2021, 8, 30, 16, 25, 24),
  resources: [],
};

test("a message of the fewest fields parses to exactly these", () => {
  assert.deepEqual(parseSiweMessage(MINIMAL), minimal);
});

test("a message of every field parses to exactly these", () => {
  assert.deepEqual(parseSiweMessage(FULL), {
    scheme: "https",
    domain: "example.com:3388",
    address: ADDRESS,
    statement: "I accept the ExampleOrg Terms of Service: https://example.com/tos",
    uri: "https://example.com/login",
    version: "1",
    chainId: 8453,
    nonce: "32891756abcXYZ",
    issuedAt: Date.UTC(2021, 8, 30, 16, 25, 24, 123),
    expirationTime: Date.UTC(2021, 8, 30, 17, 25, 24),
    notBefore: Date.UTC(2021, 8, 30, 16, 25, 24),
    requestId: "some-id:@!$",
    resources: [
      "ipfs://bafybeiemxf5abjwjbikoz4mc3a3dla6ual3jsgpdr4cjr3oz3evfyavhwq/",
      "https://example.com/my-web2-claim.json?limit=5.00&name=my%20laptop#top",
    ],
  });
});

const edited = (from: string, to: string, base = MINIMAL): string => {
  assert.ok(base.includes(from), `the base has ${JSON.stringify(from)}`);
  return base.replace(from, () => to);
};

const accepted: Record<string, string> = {
  "an empty statement": edited(`${ADDRESS}\n\n\n`, `${ADDRESS}\n\n\n\n`),
  "a statement that looks like a field": edited(`${ADDRESS}\n\n\n`, `${ADDRESS}\n\nURI: https://evil.example\n\n`),
  "a localhost with a port": edited("example.com", "localhost:8787"),
  "an IPv4 domain": edited("example.com", "127.0.0.1:80"),
  "an IPv6 domain": edited("example.com", "[::1]:8787"),
  "an address without a letter": edited(ADDRESS, `0x${"1".repeat(40)}`),
  "a URI of scheme and path alone": edited("https://example.com/login", "did:key:z6Mk"),
  "a URI of a scheme alone": edited("https://example.com/login", "urn:"),
  "resources without one": `${MINIMAL}\nResources:`,
  "a domain in capitals": edited("example.com", "EXAMPLE.COM"),
  "a long nonce": edited("32891756", "aB3".repeat(30)),
  "an empty request id": `${MINIMAL}\nRequest ID: `,
  "an expiration without a not-before": `${MINIMAL}\nExpiration Time: 2021-09-30T16:25:24Z`,
  "a time in small letters": edited("2021-09-30T16:25:24Z", "2021-09-30t16:25:24.5z"),
  "a leap day": edited("2021-09-30", "2020-02-29"),
};

for (const [name, text] of Object.entries(accepted)) {
  test(`accepted: ${name}`, () => assert.notEqual(parseSiweMessage(text), undefined));
}

test("a statement cannot stand in for a field", () => {
  assert.equal(parseSiweMessage(accepted["a statement that looks like a field"] ?? "")?.uri, minimal.uri);
  assert.equal(parseSiweMessage(accepted["an empty statement"] ?? "")?.statement, "");
});

const times: Record<string, number> = {
  "2021-09-30T16:25:24.1Z": Date.UTC(2021, 8, 30, 16, 25, 24, 100),
  "2021-09-30T16:25:24.123999999Z": Date.UTC(2021, 8, 30, 16, 25, 24, 123),
  "2021-12-31T23:30:00-00:45": Date.UTC(2022, 0, 1, 0, 15, 0),
  "2022-01-01T00:00:00+23:59": Date.UTC(2021, 11, 31, 0, 1, 0),
  "1969-12-31T23:59:59Z": -1_000,
};

test("times are ms since the epoch, of any offset, rounded down", () => {
  for (const [text, at] of Object.entries(times)) {
    assert.equal(parseSiweMessage(edited("2021-09-30T16:25:24Z", text))?.issuedAt, at, text);
  }
});

const refused: Record<string, string> = {
  nothing: "",
  "a trailing line feed": `${MINIMAL}\n`,
  "a leading line feed": `\n${MINIMAL}`,
  "a trailing space": `${MINIMAL} `,
  "lines that end in CR LF": MINIMAL.replaceAll("\n", "\r\n"),
  "a byte order mark": `\uFEFF${MINIMAL}`,
  "a user in the domain": edited("example.com", "example.com@evil.example"),
  "a user and password in the domain": edited("example.com", "user:pass@example.com"),
  "a path in the domain": edited("example.com", "example.com/evil"),
  "a space in the domain": edited("example.com", "example.com evil.example"),
  "a look-alike domain": edited("example.com", "ex\u0430mple.com"),
  "no domain": edited("example.com", ""),
  "a scheme without a domain": edited("example.com", "https://"),
  "a port without a number": edited("example.com", "example.com:"),
  "a port above all ports": edited("example.com", "example.com:65536"),
  "a scheme that is none": edited("example.com", "1https://example.com"),
  "two schemes": edited("example.com", "https://https://example.com"),
  "an IPv6 domain that is none": edited("example.com", "[:::1]"),
  "another greeting": edited("Ethereum account", "ethereum account"),
  "a second greeting": edited(
    "example.com",
    "evil.example wants you to sign in with your Ethereum account: example.com",
  ),
  "a small-letter address": edited(ADDRESS, ADDRESS.toLowerCase()),
  "a capital-letter address": edited(ADDRESS, `0x${ADDRESS.slice(2).toUpperCase()}`),
  "an address with one wrong capital": edited(ADDRESS, ADDRESS.replace("aaA", "AaA")),
  "an address with 0X": edited("0x", "0X"),
  "no address": edited(ADDRESS, ""),
  "an empty line for the URI": edited("URI: https://example.com/login", ""),
  "an empty line for the chain": edited("Chain ID: 1", ""),
  "an empty line for the issue time": edited("Issued At: 2021-09-30T16:25:24Z", ""),
  "a short address": edited(ADDRESS, ADDRESS.slice(0, -1)),
  "a long address": edited(ADDRESS, `${ADDRESS}0`),
  "no blank line after the address": edited(`${ADDRESS}\n\n\n`, `${ADDRESS}\n\n`),
  "a line feed in the statement": edited("I accept", "I\naccept", FULL),
  "an injected field in the statement": edited("I accept", "Hello\n\nURI: https://evil.example", FULL),
  "a statement without a blank line after it": edited("/tos\n\n", "/tos\n", FULL),
  "a statement beyond ASCII": edited("I accept", "I accepté", FULL),
  "a statement with a quotation mark": edited("I accept", 'I "accept"', FULL),
  "a statement with a tab": edited("I accept", "I\taccept", FULL),
  "no URI": edited("URI: https://example.com/login\n", ""),
  "an empty URI": edited("https://example.com/login", ""),
  "a URI that is none": edited("https://example.com/login", "_not_a_uri_"),
  "a relative URI": edited("https://example.com/login", "/login"),
  "a URI with a space": edited("https://example.com/login", "https://example.com/log in"),
  "a URI with half an escape": edited("https://example.com/login", "https://example.com/%2"),
  "a URI with two fragments": edited("https://example.com/login", "https://example.com/#a#b"),
  "a URI with a bracket in its path": edited("https://example.com/login", "https://example.com/[a]"),
  "version 2": edited("Version: 1", "Version: 2"),
  "version 1.0": edited("Version: 1", "Version: 1.0"),
  "no version": edited("Version: 1\n", ""),
  "chain 0": edited("Chain ID: 1", "Chain ID: 0"),
  "a chain with a leading zero": edited("Chain ID: 1", "Chain ID: 01"),
  "a chain in hexadecimal": edited("Chain ID: 1", "Chain ID: 0x1"),
  "a chain that is no number": edited("Chain ID: 1", "Chain ID: ?"),
  "a negative chain": edited("Chain ID: 1", "Chain ID: -1"),
  "a fractional chain": edited("Chain ID: 1", "Chain ID: 1.5"),
  "a chain beyond 2^53": edited("Chain ID: 1", "Chain ID: 9007199254740993"),
  "a nonce of seven": edited("32891756", "3289175"),
  "a nonce with a hyphen": edited("32891756", "3289-1756"),
  "a nonce beyond ASCII": edited("32891756", "3289175\u0661"),
  "no nonce": edited("Nonce: 32891756\n", ""),
  "no issue time": edited("\nIssued At: 2021-09-30T16:25:24Z", ""),
  "a date without a time": edited("T16:25:24Z", ""),
  "a time without an offset": edited("24Z", "24"),
  "a time with a space for its T": edited("30T16", "30 16"),
  "a time with an empty fraction": edited("24Z", "24.Z"),
  "a time as a browser prints it": edited("2021-09-30T16:25:24Z", "Wed Oct 05 2011 16:48:00 GMT+0200 (CEST)"),
  "hour 24": edited("T16:25:24Z", "T24:00:00Z"),
  "minute 60": edited("T16:25:24Z", "T16:60:24Z"),
  "a leap second": edited("T16:25:24Z", "T23:59:60Z"),
  "an offset of 24 hours": edited("24Z", "24+24:00"),
  "30 February": edited("2021-09-30", "2021-02-30"),
  "29 February of a year without one": edited("2021-09-30", "2021-02-29"),
  "month 13": edited("2021-09-30", "2021-13-01"),
  "an expiration that is no time": `${MINIMAL}\nExpiration Time: never`,
  "a not-before that is no time": `${MINIMAL}\nNot Before: `,
  "a request id with a slash": `${MINIMAL}\nRequest ID: a/b`,
  "optional fields out of order": `${MINIMAL}\nRequest ID: a\nNot Before: 2021-09-30T16:25:24Z`,
  "a field twice": edited("Version: 1", "Version: 1\nVersion: 1"),
  "fields out of order": edited("Version: 1\nChain ID: 1", "Chain ID: 1\nVersion: 1"),
  "an unknown field": `${MINIMAL}\nRole: admin`,
  "a field in other letters": edited("Chain ID", "Chain Id"),
  "a field without its space": edited("Nonce: ", "Nonce:"),
  "a field with two spaces": edited("Nonce: ", "Nonce:  "),
  "a resource that is no URI": `${MINIMAL}\nResources:\n- hello`,
  "two resources on one line": edited("\n- https", " - https", FULL),
  "a second resource that is no URI": `${FULL}\n- _not_a_uri_`,
  "a resource without its dash": `${MINIMAL}\nResources:\nhttps://example.com`,
  "a resource without resources": `${MINIMAL}\n- https://example.com`,
  "an empty line after the resources": `${MINIMAL}\nResources:\n- https://example.com\n`,
  "a text without end": `${MINIMAL}\nRequest ID: ${"a".repeat(MAX_SIWE_LENGTH)}`,
};

for (const [name, text] of Object.entries(refused)) {
  test(`refused: ${name}`, () => assert.equal(parseSiweMessage(text), undefined));
}

const hex = fc.stringMatching(/^[0-9a-f]{40}$/);
const time = fc.integer({ min: Date.UTC(1, 0), max: Date.UTC(9999, 11, 31) });
const uri = fc.webUrl({ withFragments: true, withQueryParameters: true });
const messages: fc.Arbitrary<SiweMessage> = fc
  .record(
    {
      scheme: fc.stringMatching(/^[a-z][a-z0-9+.-]{0,8}$/),
      domain: fc.webAuthority({ withUserInfo: false, withPort: true }).filter((domain) => !domain.endsWith(":")),
      address: hex.map((text) => getAddress(`0x${text}`) as Address),
      statement: fc.stringMatching(/^[a-zA-Z0-9 :/?#[\]@!$&'()*+,;=._~-]{0,80}$/),
      uri,
      version: fc.constant("1" as const),
      chainId: fc.maxSafeNat().map((id) => id + Number(id === 0)),
      nonce: fc.stringMatching(/^[a-zA-Z0-9]{8,40}$/),
      issuedAt: time,
      expirationTime: time,
      notBefore: time,
      requestId: fc.stringMatching(/^([a-zA-Z0-9:@!$._~-]|%2[0-9A-F]){0,20}$/),
      resources: fc.array(uri, { maxLength: 3 }),
    },
    {
      noNullPrototype: true,
      requiredKeys: ["domain", "address", "uri", "version", "chainId", "nonce", "issuedAt", "resources"],
    },
  )
  .filter((message) => URL.canParse(`http://${message.domain}`));

test("a formatted message parses back to the same fields", () => {
  fc.assert(
    fc.property(messages, (message) => assert.deepEqual(parseSiweMessage(formatSiweMessage(message)), message)),
  );
});

test("a line feed in any field never makes a message", () => {
  const texts = ["domain", "address", "statement", "uri", "nonce", "requestId"] as const;
  fc.assert(
    fc.property(messages, fc.constantFrom(...texts), fc.nat(), (message, name, at) => {
      const value = message[name] ?? "";
      const position = at % (value.length + 1);
      const injected = `${value.slice(0, position)}\n${value.slice(position)}`;
      assert.throws(() => formatSiweMessage({ ...message, [name]: injected }), TypeError);
    }),
    { examples: [[{ ...minimal, resources: [] }, "address", minimal.address.length]] },
  );
});

test("no text makes the parser throw", () => {
  fc.assert(fc.property(fc.string({ maxLength: 500 }), (text) => parseSiweMessage(text) === undefined));
  for (const filler of ["a", "a.", "/", "%20", ":", "@", " ", "- ", "["]) {
    const long = filler.repeat(MAX_SIWE_LENGTH).slice(0, 3_500);
    assert.equal(parseSiweMessage(edited("https://example.com/login", `${long}\\`)), undefined);
    assert.equal(parseSiweMessage(edited("example.com", `${long}\\`)), undefined);
  }
});

test("viem's messages are accepted, with the same fields", () => {
  fc.assert(
    fc.property(messages, (message) => {
      fc.pre(/^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}(:[0-9]{1,5})?$/i.test(message.domain));
      const text = createSiweMessage({
        ...message,
        issuedAt: new Date(message.issuedAt),
        expirationTime: message.expirationTime === undefined ? undefined : new Date(message.expirationTime),
        notBefore: message.notBefore === undefined ? undefined : new Date(message.notBefore),
        resources: [...message.resources],
      });
      const { statement, requestId, ...rest } = message;
      // viem writes no line for an empty field.
      assert.deepEqual(parseSiweMessage(text), {
        ...rest,
        ...(statement ? { statement } : {}),
        ...(requestId ? { requestId } : {}),
      });
    }),
  );
});
