import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { accountPartition } from "@inference/ledger/partition";
import { Webhook } from "standardwebhooks";
import { makeReasoningSeal } from "../inference/answer/reasoning-seal.ts";
import { gatewaySettings, parseSettings, secretsOf } from "../settings.ts";
import { makeSealer } from "../upstream/sealer.ts";
import { makeWebhookSender } from "../webhooks/sender.ts";
import { makeCredentials } from "./credentials.ts";

const random = { bytes: (length: number) => new Uint8Array(randomBytes(length)) };
const address = `0x${"a".repeat(40)}` as const;
const [old, next] = [randomBytes(32).toString("hex"), randomBytes(32).toString("hex")];
const settings = gatewaySettings.pick({ GATEWAY_SECRET: true, GATEWAY_SECRET_PREVIOUS: true });

/** The makers and readers of secrets of a gateway with these settings. */
async function open(given: Record<string, string>) {
  const { secret, previousSecret } = secretsOf(parseSettings(settings, given));
  const sent: { headers: Record<string, string>; body: string }[] = [];
  const webhooks = makeWebhookSender(
    { secret, previousSecret },
    {
      clock: { now: Date.now },
      timers: { after: () => ({ cancel() {} }) },
      webhooks: { post: async ({ headers, body }) => sent.push({ headers, body }) + 199 },
    },
  );
  return {
    credentials: makeCredentials(secret, random, previousSecret),
    sealer: makeSealer({ secret, previousSecret }, random),
    reasoning: makeReasoningSeal({ secret, previousSecret }, random),
    webhookSecret: webhooks.secretOf(accountPartition(address), "wh_1"),
    async tell() {
      const webhook = { id: "wh_1", url: "https://a.test", events: [], thresholdNanoUsd: null, createdAt: 0 };
      const message = { id: "msg_1", at: 0, event: { type: "ping" } as const };
      assert.equal((await webhooks.send(accountPartition(address), webhook, message)).isDelivered, true);
      return sent.at(-1) ?? assert.fail();
    },
  };
}

test("a new secret keeps what the previous one made, until that one is removed, and makes everything itself", async () => {
  const owner = { account: "account:0x1", model: "m" };
  const before = await open({ GATEWAY_SECRET: old });
  const between = await open({ GATEWAY_SECRET: next, GATEWAY_SECRET_PREVIOUS: `0x${old}` });
  const after = await open({ GATEWAY_SECRET: next });
  const makes = ({ credentials, sealer, reasoning }: typeof before) => ({
    key: credentials.issue("ik", address).text,
    sealed: sealer.seal("name", new Uint8Array([7])),
    thought: reasoning.seal(owner, "I think.") ?? assert.fail(),
  });
  const opens = (gateway: typeof before, made: ReturnType<typeof makes>) => [
    gateway.credentials.verify(made.key)?.subject === address,
    gateway.sealer.open("name", made.sealed) !== undefined,
    gateway.reasoning.open(owner, made.thought) === "I think.",
  ];
  const [all, none] = [
    [true, true, true],
    [false, false, false],
  ];
  assert.deepEqual(opens(between, makes(before)), all);
  assert.deepEqual(opens(after, makes(before)), none);
  assert.deepEqual(opens(after, makes(between)), all);
  assert.deepEqual(opens(before, makes(between)), none);
  assert.notEqual(between.webhookSecret, before.webhookSecret);
  const { headers, body } = await between.tell();
  for (const secret of [before.webhookSecret, between.webhookSecret]) new Webhook(secret).verify(body, headers);
  const told = await after.tell();
  assert.throws(() => new Webhook(before.webhookSecret).verify(told.body, told.headers));
});
