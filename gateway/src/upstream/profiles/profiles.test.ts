import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { readPricesFile } from "../../catalogue/prices-file.ts";
import { limits } from "../../config.ts";
import { configOf, gatewaySettings, parseSettings, SettingsError } from "../../settings.ts";
import { type ProfileName, profileNames, profiles } from "./all.ts";

/** The settings that every operator gives, whatever the provider. */
const others = {
  BASE_URL: "https://gateway.test",
  GATEWAY_SECRET: "ab".repeat(32),
  PRIMARY_RPC_URL: "https://node.test",
  PRIMARY_CHAIN_ID: "1",
  SETTLEMENT_ADDRESS: `0x${"5".repeat(40)}`,
};

function upstreamOf(settings: Record<string, string>) {
  const host = { mostDrainMs: limits.requestMs, bodyMemoryBytes: 2 ** 28, answerMemoryBytes: 1, pricesFile: null };
  return configOf(parseSettings(gatewaySettings, { ...others, ...settings }), host);
}

/** The settings that a profile leaves to the operator. */
const needed: Record<ProfileName, Record<string, string>> = {
  generic: { UPSTREAM_BASE_URL: "https://provider.test/v1", UPSTREAM_API_KEY: "key" },
  venice: { UPSTREAM_API_KEY: "key" },
  openrouter: { UPSTREAM_API_KEY: "key" },
  openai: { UPSTREAM_API_KEY: "key" },
  vllm: {},
  ollama: {},
  llamacpp: {},
};

test("a profile is made of settings, and with the key that its provider wants it is complete", () => {
  for (const name of profileNames) {
    for (const setting of Object.keys(profiles[name]))
      assert.ok(Object.hasOwn(gatewaySettings.shape, setting), setting);
    const { upstream } = upstreamOf({ ...needed[name], UPSTREAM_PROFILE: name });
    assert.equal(upstream.profile, name);
    const lacking = Object.keys(needed[name]).filter((setting) => {
      const { [setting]: _, ...rest } = needed[name];
      return !(throwsFor({ ...rest, UPSTREAM_PROFILE: name }) ?? "").includes(`${setting}: is missing`);
    });
    assert.deepEqual(lacking, [], name);
  }
});

function throwsFor(settings: Record<string, string>): string | undefined {
  try {
    upstreamOf(settings);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof SettingsError);
    return error.message;
  }
}

test("one setting and a key make a provider's configuration, and a setting of the operator's own comes first", () => {
  const venice = { UPSTREAM_PROFILE: "venice", UPSTREAM_API_KEY: "key", UPSTREAM_ADMIN_KEY: "admin" };
  const { upstream, operator } = upstreamOf(venice);
  assert.partialDeepStrictEqual(upstream, {
    baseUrl: "https://api.venice.ai/api/v1",
    chatExtras: { venice_parameters: { include_venice_system_prompt: false } },
    blockedHeader: "x-venice-is-content-violation",
    recordUrl: "https://api.venice.ai/api/v1/billing/usage-history?pageSize=1000&startTimestamp={since}",
    recordKey: "admin",
  });
  assert.deepEqual(operator.failures, { most: 18, windowMs: 30_000 });
  const own = { UPSTREAM_BASE_URL: "https://proxy.test/v1", UPSTREAM_CHAT_EXTRAS: "{}", UPSTREAM_FAILURES: "" };
  const changed = upstreamOf({ ...venice, ...own });
  assert.deepEqual(changed.upstream.chatExtras, {});
  assert.match(changed.upstream.recordUrl ?? "", /^https:\/\/proxy\.test\/v1\/billing/);
  assert.equal(changed.operator.failures?.most, 18, "an empty setting counts as absent");
});

test("each profile has a page, whose settings exist and whose price file is valid", () => {
  for (const name of profileNames.filter((name) => name !== "generic")) {
    const page = readFileSync(new URL(`../../../../docs/providers/${name}.md`, import.meta.url), "utf8");
    const exported = [...page.matchAll(/^export (\w+)=(\S*)/gm)].map(([, setting = "", value = ""]) => [
      setting,
      value,
    ]);
    assert.deepEqual(exported[0], ["UPSTREAM_PROFILE", name]);
    for (const [setting = ""] of exported) assert.ok(Object.hasOwn(gatewaySettings.shape, setting), setting);
    const lacking = Object.keys(needed[name]).filter((setting) => !exported.some(([given]) => given === setting));
    assert.deepEqual(lacking, [], name);
    const [, example] = /^```json\n(.+?)^```/ms.exec(page) ?? [];
    assert.equal(
      example !== undefined,
      exported.some(([setting]) => setting === "PRICES_FILE"),
      name,
    );
    if (example !== undefined) assert.ok(readPricesFile(JSON.parse(example)).length > 0);
  }
});

test("a profile that is not there is named with those that are, and keys that a provider cannot make are refused", () => {
  assert.match(throwsFor({ ...needed.generic, UPSTREAM_PROFILE: "toString" }) ?? "", /UPSTREAM_PROFILE: .*venice/);
  const billing = { ...needed.vllm, UPSTREAM_PROFILE: "vllm", UPSTREAM_BILLING_KEY: "admin" };
  assert.match(throwsFor(billing) ?? "", /UPSTREAM_BILLING_KEY: cannot be used without UPSTREAM_BILLING_URL/);
  const said = throwsFor({ UPSTREAM_PROFILE: "openai", UPSTREAM_API_KEY: "key", UPSTREAM_ADMIN_KEY: "admin" }) ?? "";
  assert.match(said, /UPSTREAM_ADMIN_KEY: cannot be used/);
});
