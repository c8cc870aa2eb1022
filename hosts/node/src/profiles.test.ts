import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { limits } from "@inference/gateway/config";
import { makeProviderBilling } from "@inference/gateway/operator/provider-billing";
import { configOf, parseSettings } from "@inference/gateway/settings";
import { noLimits } from "@inference/gateway/test/no-limits";
import { settledOf, settledOne } from "@inference/gateway/test/settlement/audit";
import { type ProfileName, profileNames, profiles } from "@inference/gateway/upstream/profiles/all";
import type { Profile } from "@inference/gateway/upstream/profiles/profile";
import { makeProvider } from "@inference/gateway/upstream/provider";
import { isDeep } from "@inference/protocol/testing/deep";
import { seed } from "@inference/protocol/testing/seed";
import { providerCopies } from "@inference/provider-simulator/copies/all";
import type { ErrorCause, ProviderCopy } from "@inference/provider-simulator/copies/copy";
import { type CopyServer, startCopy } from "@inference/provider-simulator/copies/server";
import { checkProvider } from "./check.ts";
import { nodeSettings } from "./settings.ts";
import {
  costOf,
  LIMIT,
  makeRandom,
  ODDITIES,
  type OddAnswer,
  oddAnswer,
  type Rates,
  writeAnswer,
} from "./testing/odd-usage.ts";
import { type Stack, startStack } from "./testing/stack.ts";
import { timers } from "./timers.ts";
import { openUpstream } from "./upstream.ts";

const CHAT = "/v1/chat/completions";
const KEY = "a-key-at-the-provider";
const USD = 1_000_000_000;
/** In the fast run each kind of odd usage once. */
const USAGES = isDeep ? 200 : ODDITIES;

type Case = { model: string; rates: Rates; contextTokens: number; pricesFile?: string };

/** The operator's price file for a provider that lists no prices. */
function priced(model: string, contextTokens: number, more: { listed?: object[]; isNamed?: boolean } = {}): Case {
  const rates = { input: 0.2, output: 0.8, cacheRead: 0.05 };
  const text = {
    ...{ id: model, type: "text", max_output_tokens: 4_096 },
    ...(more.isNamed ? { context_tokens: contextTokens } : {}),
    usd_per_million_tokens: { input: "0.2", output: "0.8", cache_read: "0.05" },
  };
  return { model, rates, contextTokens, pricesFile: JSON.stringify({ models: [text, ...(more.listed ?? [])] }) };
}

const cases: Record<ProfileName, Case> = {
  generic: priced("model", 8_192, { isNamed: true }),
  venice: {
    ...{ model: "text-small", contextTokens: 32_768 },
    rates: { input: 0.15, output: 0.6, cacheRead: 0.03, cacheWrite: 0.1875 },
  },
  openrouter: {
    ...{ model: "maker/small", contextTokens: 65_536 },
    rates: { input: 0.15, output: 0.6, cacheRead: 0.075, cacheWrite: 0.18 },
  },
  openai: priced("gpt-small", 128_000, {
    isNamed: true,
    listed: [
      { id: "tts", type: "speech", usd_per_million_characters: "15" },
      { id: "embed", type: "embedding", context_tokens: 8_192, usd_per_million_tokens: { input: "0.02" } },
    ],
  }),
  vllm: priced("Qwen/small", 32_768),
  ollama: priced("llama3.2:latest", 4_096, { isNamed: true }),
  llamacpp: priced("small.gguf", 16_384),
};

/** The models of its catalogue that a customer can use. */
const offered: Record<ProfileName, readonly string[]> = {
  generic: ["model"],
  venice: ["embed", "image-flat", "text-long", "text-small", "voice"],
  openrouter: ["maker/free:free", "maker/small"],
  openai: ["embed", "gpt-small", "tts"],
  vllm: ["Qwen/small"],
  ollama: ["llama3.2:latest"],
  llamacpp: ["small.gguf"],
};

/** The sum of a day's record. */
const charges: Partial<Record<ProfileName, number>> = {
  venice: 2 * (50_850 + 10_000_000),
  openrouter: 15_000_300,
  openai: 60_000_000,
};

/** The customer's message for each of the provider's errors. */
const told: Record<ErrorCause, [status: number, code: RegExp]> = {
  context: [400, /^context_length_exceeded$/],
  flagged: [400, /^content_policy_violation$/],
  invalid: [400, /^invalid_request$/],
  gone: [503, /^upstream_unavailable$/],
  credit: [503, /^upstream_unavailable$/],
  denied: [503, /^upstream_unavailable$/],
  busy: [503, /^upstream_unavailable$/],
  down: [0, /^upstream_(unavailable|error|timeout)$/],
};

for (const name of profileNames) {
  const copy: ProviderCopy = providerCopies[name];
  const { model, rates, contextTokens, pricesFile = null } = cases[name];

  describe(`UPSTREAM_PROFILE=${name}`, () => {
    let provider: CopyServer;
    let stack: Stack;
    before(async () => {
      provider = await startCopy(copy, KEY);
      const config = configOf(settingsOf(), { ...memory, mostDrainMs: limits.requestMs, pricesFile });
      stack = await startStack({
        ...{ provider: provider.url, upstream: config.upstream },
        operator: { failures: config.operator.failures, queue: { ...noLimits.queue, waitMs: 500 } },
      });
    });
    after(async () => {
      await stack.stop();
      await provider.close();
    });

    const settingsOf = (more: Record<string, string> = {}) =>
      parseSettings(nodeSettings, {
        ...others,
        ...{ UPSTREAM_PROFILE: name, UPSTREAM_BASE_URL: provider.url },
        ...(copy.hasKey ? { UPSTREAM_API_KEY: KEY } : {}),
        ...more,
      });

    async function ask(content: string, more: object = {}) {
      const account = await stack.account(USD);
      const body = { model, max_tokens: 5, messages: [{ role: "user", content }], ...more };
      const response = await stack.call(CHAT, { key: account.key, body });
      return { account, status: response.status, text: await response.text() };
    }

    test("a start checks its key, and sees in one request that it keeps the limit and tells its usage", async () => {
      const before = provider.requests.length;
      await checkProvider(settingsOf(), pricesFile, () => {});
      const [probe, ...rest] = provider.requests.slice(before);
      assert.equal(rest.length, 0);
      assert.equal(probe?.body.model, model);
      assert.equal(probe?.authorization, copy.hasKey ? `Bearer ${KEY}` : undefined);
    });

    test("its list is offered as far as it can be priced and served", async () => {
      const answer = (await (await stack.call("/v1/models")).json()) as { data: { id: string; features: object }[] };
      assert.deepEqual(answer.data.map(({ id }) => id).sort(), offered[name]);
      const long = answer.data.find(({ id }) => id === "text-long");
      const shown = { privacy: "anonymized", region_restrictions: ["EU"], removes_at: "2099-01-01" };
      if (long !== undefined) assert.partialDeepStrictEqual(long.features, shown);
    });

    test("a start is refused where the limit has another name", async () => {
      const other = copy.limitFields.includes("max_completion_tokens") ? "max_tokens" : "max_completion_tokens";
      const start = checkProvider(settingsOf({ UPSTREAM_OUTPUT_FIELD: other }), pricesFile, () => {});
      if (copy.limitFields.includes(other)) await start;
      else await assert.rejects(start, /with 40 tokens .* ignores the output limit/);
    });

    test("chat is served whole and as a stream, for its usage and without the provider's own prompt", async () => {
      for (const stream of [false, true]) {
        const { account, status, text } = await ask("Count.", { stream, stream_options: { include_usage: true } });
        assert.equal(status, 200, text);
        assert.match(text, /w0 .*w4 /s);
        assert.doesNotMatch(text, /w5 /);
        const { detail, receipt } = await settledOne(stack, account.address);
        const { promptTokens = 0 } = detail.usage ?? {};
        assert.ok(promptTokens > 0 && promptTokens < 100);
        const scaled = promptTokens * rates.input * 10 + 5 * rates.output * 10;
        assert.equal(receipt.chargeNanoUsd, Math.ceil(Number((scaled * 100).toFixed(6))), "tokens x prices");
      }
    });

    test("each of its errors is told in the customer's words, and costs nothing", async () => {
      for (const cause of Object.keys(copy.errors) as ErrorCause[]) {
        if (cause === "busy") continue;
        const { account, status, text } = await ask(`[[${cause}]]`);
        const [expected, code] = told[cause];
        if (expected !== 0) assert.equal(status, expected, `${cause}: ${text}`);
        assert.match((JSON.parse(text) as { error: { code: string } }).error.code, code, `${cause}: ${text}`);
        assert.doesNotMatch(text, /openrouter\.ai|balance|credits|quota|API key/i);
        assert.equal((await settledOne(stack, account.address)).receipt.chargeNanoUsd, 0);
      }
      assert.notEqual((await stack.gateway.keyCheck.current()).state, "refused", "its own question was answered");
    });

    test(`${USAGES} odd usages are charged as the documents say, and never above the hold`, async () => {
      const random = makeRandom(seed + name.length * 31 + name.charCodeAt(0));
      const answers = Array.from({ length: USAGES }, (_, index) => oddAnswer(index, random));
      provider.script(({ text }) => writeAnswer(answers[Number(/odd (\d+)/.exec(text)?.[1])] ?? assert.fail(text)));
      const from = provider.requests.length;
      const accounts = await Promise.all([1, 2, 3].map(() => stack.account(USD)));
      const ids: string[] = [];
      const one = async ({ isStream }: OddAnswer, index: number): Promise<void> => {
        const body = {
          model,
          max_tokens: LIMIT,
          stream: isStream,
          messages: [{ role: "user", content: `odd ${index}` }],
        };
        const response = await stack.call(CHAT, { key: accounts[index % 3]?.key ?? "", body });
        await response.text();
        assert.equal(response.status, 200);
        ids[index] = response.headers.get("x-request-id") ?? "";
      };
      for (let at = 0; at < answers.length; at += 30) {
        await Promise.all(answers.slice(at, at + 30).map((answer, index) => one(answer, at + index)));
      }
      provider.script(null);
      const sent = new Map(
        provider.requests.slice(from).map(({ body, bytes }) => [/odd (\d+)/.exec(JSON.stringify(body))?.[1], bytes]),
      );
      const settled = await Promise.all(accounts.map(({ address }) => settledOf(stack, address)));
      const receipts = new Map(settled.flat().map(({ receipt }) => [receipt.id, receipt]));
      for (const [index, answer] of answers.entries()) {
        const bytes = sent.get(String(index)) ?? assert.fail("the provider did not get it");
        const { heldNanoUsd, chargeNanoUsd } = receipts.get(ids[index] ?? "") ?? assert.fail(`no receipt of ${index}`);
        const expected = costOf(answer, { bytes, messages: 1, contextTokens }, rates);
        assert.deepEqual({ heldNanoUsd, chargeNanoUsd }, expected, `${index}: ${JSON.stringify(answer)}`);
      }
      assert.equal(receipts.size, USAGES);
    });

    if (copy.billing !== undefined) {
      test("its record of a day is read whole, and compared; one that cannot be read is named", async () => {
        const day = "2026-11-22";
        const lines: unknown[] = [];
        const transport = openUpstream(provider.url);
        const billingOf = (key: string, more: Record<string, string> = {}) => {
          const settings = settingsOf({ UPSTREAM_BILLING_KEY: key, ...more });
          const { upstream } = configOf(settings, { ...memory, mostDrainMs: limits.requestMs, pricesFile });
          const log = (...line: unknown[]): unknown => lines.push(line);
          const listedOn = async () => 0;
          const billing = makeProviderBilling(upstream.billing, {
            ...{ log, timers, listedOn, listsAll: true, provider: makeProvider(upstream, transport) },
          });
          return billing ?? assert.fail("it has no record");
        };
        const charged = charges[name] ?? assert.fail("no charges");
        assert.equal(await billingOf(`${KEY}-admin`).chargedOn(day, charged), charged);
        // More than a cent, and more than one per cent.
        const listedNanoUsd = charged - 10_000_000;
        assert.equal(await billingOf(`${KEY}-admin`).chargedOn(day, listedNanoUsd), charged);
        const drift = { day, driftNanoUsd: 10_000_000, listedNanoUsd };
        assert.deepEqual(lines.splice(0), [["alert", "provider_bill", drift]]);
        assert.equal(await billingOf(KEY).chargedOn(day, 0), null);
        const why = "the provider refuses UPSTREAM_BILLING_KEY (401)";
        assert.deepEqual(lines.splice(0), [["warn", "provider_bill_unread", { day, why }]]);
        // Another day's rows, as of a provider that ignores the dates.
        const UPSTREAM_BILLING_URL = (profiles[name] as Profile).UPSTREAM_BILLING_URL?.replace(
          /\{(day|start|start_s)\}/,
          (_, of: string) => ({ day: "2026-11-21", start: "2026-11-21", start_s: "1795392000" })[of] ?? "",
        );
        const other = billingOf(`${KEY}-admin`, { UPSTREAM_BILLING_URL: `${UPSTREAM_BILLING_URL}&of={day}` });
        assert.equal(await other.chargedOn(day, 0), null);
        assert.match(JSON.stringify(lines), /of another day than 2026-11-22/);
        await transport.close();
      });
    }

    if (copy.others !== undefined) {
      test("its other endpoints are charged by their own units, and a blocked image is free", async () => {
        const voice = name === "venice" ? { model: "voice", usd: 3.5 } : { model: "tts", usd: 15 };
        const embedding = name === "venice" ? 0.0125 : 0.02;
        const requests: [path: string, body: object, chargeNanoUsd: number][] = [
          ["/v1/audio/speech", { model: voice.model, input: "Hello.", voice: "af_sky" }, 6 * voice.usd * 1_000],
          ["/v1/embeddings", { model: "embed", input: "Hello." }, Math.ceil(3 * embedding * 1_000)],
        ];
        if (name === "venice") requests.push(["/v1/images/generations", { model: "image-flat", prompt: "x" }, 0]);
        for (const [path, body, chargeNanoUsd] of requests) {
          const account = await stack.account(USD);
          const response = await stack.call(path, { key: account.key, body });
          assert.ok(response.status < 500, `${path}: ${await response.text()}`);
          assert.equal((await settledOne(stack, account.address)).receipt.chargeNanoUsd, chargeNanoUsd, path);
        }
      });
    }

    if (copy.errors.busy !== undefined) {
      test("while it is busy a customer is told so, and those behind do not ask it before its time", async () => {
        const { status, text } = await ask("[[busy]]");
        assert.equal(status, told.busy[0], text);
        if (copy.errors.busy?.headers === undefined) return;
        const asked = provider.requests.length;
        const next = await ask("Count.");
        assert.ok([429, 503].includes(next.status), next.text);
        assert.equal(provider.requests.length, asked);
      });
    }
  });
}

const memory = { bodyMemoryBytes: 2 ** 28, answerMemoryBytes: 2 ** 27 };

/** The settings that every operator gives, whatever the provider. */
const others = {
  BASE_URL: "http://gateway.test",
  GATEWAY_SECRET: "ab".repeat(32),
  PRIMARY_RPC_URL: "http://127.0.0.1:9",
  PRIMARY_CHAIN_ID: "31337",
  SETTLEMENT_ADDRESS: `0x${"5".repeat(40)}`,
};
