import assert from "node:assert/strict";
import { test } from "node:test";
import { accountPartition } from "@inference/ledger/partition";
import { hear } from "@inference/ledger/testing/example";
import { makeWallet, NOW, openFixture } from "../../../test/identity-fixture.ts";

const USD = 1_000_000_000;
const model = { id: "voice", type: "speech", usd_per_million_characters: "3.5", features: { voices: ["晓晓 1"] } };

test("a voice whose name no header can have is answered", async () => {
  const pricesFile = JSON.stringify({ models: [model] });
  const fixture = openFixture({ upstream: { ...openFixture().gateway.config.upstream, pricesFile } });
  await fixture.gateway.prices.refresh();
  fixture.ledger.apply("ceiling", { type: "setCeiling", limitNanoUsd: 50 * USD });
  const wallet = makeWallet();
  fixture.ledger.apply(accountPartition(wallet.address), hear(USD, { at: NOW }));
  const { key: bearer } = await fixture.makeKey(wallet);
  fixture.gateway.environment.upstream.send = async () => ({
    status: 200,
    header: (name) => (name.toLowerCase() === "content-type" ? "audio/mpeg" : null),
    body: new Blob(["1234"]).stream(),
  });
  const body = { model: "voice", input: "hi", voice: "alloy" };
  const { text, headers } = await fixture.call("POST", "/v1/audio/speech", { bearer, body });
  assert.deepEqual([text, headers.get("x-voice")], ["1234", "?? 1"]);
});
