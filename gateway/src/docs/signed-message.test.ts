import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSiweMessage } from "@inference/protocol/siwe";
import { createSiweMessage } from "viem/siwe";
import { BASE_URL, makeWallet, openFixture, PRIMARY, SECONDARY } from "../../test/identity-fixture.ts";
import { limits } from "../config.ts";
import { exampleMessage, messageRules } from "./signed-message.ts";

const text = exampleMessage({ baseUrl: BASE_URL, chainIds: [PRIMARY] });
const issuedAt = parseSiweMessage(text)?.issuedAt ?? 0;

/** Sends the message of the page, signed by another wallet, with a change. */
async function ask(change: (text: string) => string = (same) => same, now = issuedAt): Promise<string> {
  const fixture = openFixture();
  fixture.time.now = now;
  const wallet = makeWallet();
  const message = change(text.replace(/0x1{40}/, wallet.address));
  const body = { message, signature: await wallet.signMessage({ message }) };
  const answer = await fixture.call("POST", "/api/v1/keys", { body });
  return answer.body.error?.code ?? String(answer.status);
}

test("the message that is shown makes a key, and is the one that viem writes of the same fields", async () => {
  assert.equal(await ask(), "201");
  const fields = parseSiweMessage(text) ?? assert.fail();
  const { resources, ...others } = fields;
  const times = { issuedAt: new Date(fields.issuedAt) };
  const { domain, address, uri, chainId, nonce } = others;
  const written = { domain, address, uri, chainId, nonce, version: "1" as const, resources: [...resources], ...times };
  assert.equal(createSiweMessage(written), text);
});

test("each rule that is told of the message holds", async () => {
  const host = new URL(BASE_URL).host;
  const minutes = limits.messageMs / 60_000;
  const [domain, uri, chain, age, resource, ...others] = messageRules({
    baseUrl: BASE_URL,
    chainIds: [PRIMARY, SECONDARY],
  });
  assert.deepEqual(others, []);
  assert.ok(domain?.includes(`\`${host}\``));
  assert.equal(await ask((message) => message.replace(host, "elsewhere.example")), "siwe_domain_mismatch");
  assert.ok(uri?.includes(`\`${BASE_URL}\``));
  assert.equal(
    await ask((message) => message.replace(`URI: ${BASE_URL}`, "URI: https://elsewhere.example")),
    "siwe_domain_mismatch",
  );
  assert.equal(await ask((message) => message.replace(`URI: ${BASE_URL}`, `URI: ${BASE_URL}/account`)), "201");
  assert.ok(chain?.includes(`${PRIMARY}, ${SECONDARY}`));
  assert.equal(await ask((message) => message.replace(`Chain ID: ${PRIMARY}`, `Chain ID: ${SECONDARY}`)), "201");
  assert.equal(
    await ask((message) => message.replace(`Chain ID: ${PRIMARY}`, "Chain ID: 5")),
    "siwe_chain_unsupported",
  );
  assert.ok(age?.includes(`${minutes} minutes`));
  assert.equal(await ask(undefined, issuedAt + minutes * 60_000), "201");
  assert.equal(await ask(undefined, issuedAt + minutes * 60_000 + 1), "siwe_expired");
  assert.equal(await ask((message) => message.replace(/Nonce: \w+/, "Nonce: seven77")), "siwe_malformed");
  assert.ok(resource?.includes("exactly one resource"));
  assert.equal(await ask((message) => message.replace(/\nResources:[\s\S]*/, "")), "siwe_malformed");
  assert.equal(await ask((message) => `${message}\n- ${BASE_URL}/other`), "siwe_malformed");
});
