import { makePriceList } from "@inference/gateway/catalogue/price-list";
import type { GatewayConfig, UpstreamConfig } from "@inference/gateway/config";
import type { Environment, Log } from "@inference/gateway/environment";
import { firstPrices } from "@inference/gateway/jobs/jobs";
import { probeProvider } from "@inference/gateway/jobs/probe";
import { configOf, SettingsError } from "@inference/gateway/settings";
import { tryKey } from "@inference/gateway/upstream/key-check";
import { makeProvider, type Provider } from "@inference/gateway/upstream/provider";
import { log } from "./log.ts";
import type { NodeSettings } from "./settings.ts";
import { timers } from "./timers.ts";
import { openUpstream } from "./upstream.ts";

/**
 * Throws `SettingsError` if the gateway must not start: the provider does not accept the key (every request would
 * fail), contradicts the prices or model aliases, or does not do what charges depend on (UPSTREAM_PROBE). If the
 * provider cannot say whether it accepts the key, the gateway starts, and its health shows the problem.
 *
 * @param pricesLog Gets what the prices say. A start that follows logs the same.
 */
export async function checkProvider(settings: NodeSettings, pricesFile: string | null, pricesLog: Log): Promise<void> {
  const transport = openUpstream(settings.UPSTREAM_BASE_URL);
  try {
    const config = configOf(settings, { ...NO_LIMITS, pricesFile });
    const provider = makeProvider(config.upstream, transport);
    await checkKey(config.upstream, provider);
    await checkModels(config, provider, pricesLog);
  } finally {
    await transport.close();
  }
}

/** A check serves no request. */
const NO_LIMITS = {
  mostDrainMs: Number.MAX_SAFE_INTEGER,
  bodyMemoryBytes: Number.MAX_SAFE_INTEGER,
  answerMemoryBytes: Number.MAX_SAFE_INTEGER,
};

async function checkKey({ baseUrl }: UpstreamConfig, provider: Provider): Promise<void> {
  if ((await tryKey(provider, timers)) !== 401) return;
  throw new SettingsError(
    `The gateway cannot start. UPSTREAM_API_KEY: the provider at ${baseUrl} does not accept it (401). ` +
      "Set a key that it accepts.",
  );
}

async function checkModels(config: GatewayConfig, provider: Provider, pricesLog: Log): Promise<void> {
  const { upstream } = config;
  const environment = { background: () => {}, clock: { now: Date.now }, keyValue: nothing, log: pricesLog, timers };
  const prices = makePriceList(config, environment, provider);
  await firstPrices({ config, prices });
  if (upstream.probe === "off") return;
  const problems = await probeProvider({ upstream, snapshot: prices.current(), provider, timers, log });
  const unlisted = prices.unlisted();
  if (unlisted.length > 0) {
    const ids = unlisted.map((id) => `\`${id}\``).join(", ");
    problems.push(`PRICES_FILE has models that the provider does not list: ${ids}. Correct their ids, or remove them.`);
  }
  if (problems.length === 0) return;
  if (upstream.probe === "strict") {
    const override = "To start all the same, set UPSTREAM_PROBE=warn.";
    throw new SettingsError(`The gateway cannot start. ${[...problems, override].join("\n  ")}`);
  }
  for (const problem of problems) log("alert", "probe", { problem });
}

/** A check stores nothing. */
const nothing: Environment["keyValue"] = {
  get: async () => null,
  put: async () => {},
  delete: async () => {},
  list: async () => [],
};
