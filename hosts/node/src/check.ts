import { makePriceList } from "@inference/gateway/catalogue/price-list";
import type { Environment, Log, UpstreamTransport } from "@inference/gateway/environment";
import { firstPrices } from "@inference/gateway/jobs/jobs";
import { probeProvider } from "@inference/gateway/jobs/probe";
import { configOf, SettingsError } from "@inference/gateway/settings";
import { tryKey } from "@inference/gateway/upstream/key-check";
import { makeProvider } from "@inference/gateway/upstream/provider";
import { log } from "./log.ts";
import type { NodeSettings } from "./settings.ts";
import { timers } from "./timers.ts";
import { openUpstream } from "./upstream.ts";

type Files = { pricesFile: string | null };

/**
 * Throws `SettingsError` if the provider does not accept the key, because every request would fail. If the provider
 * cannot be asked, or refuses for another reason, the gateway starts, and its health shows the problem.
 */
export async function checkKey(settings: NodeSettings, files: Files): Promise<void> {
  await withUpstream(settings, async (transport) => {
    const { upstream } = configWithout(settings, files);
    if ((await tryKey(makeProvider(upstream, transport), timers)) !== 401) return;
    throw new SettingsError(
      `The gateway cannot start. UPSTREAM_API_KEY: the provider at ${upstream.baseUrl} does not accept it (401). ` +
        "Set a key that it accepts.",
    );
  });
}

/**
 * Throws `SettingsError` if the gateway could not start because of its prices or model aliases, or must not start,
 * because the provider does not do what charges depend on (UPSTREAM_PROBE).
 *
 * @param pricesLog Gets what the prices say. A start that follows logs the same.
 */
export async function checkProvider(settings: NodeSettings, files: Files, pricesLog: Log): Promise<void> {
  await withUpstream(settings, async (transport) => {
    const config = configWithout(settings, files);
    const { upstream } = config;
    const clock = { now: Date.now };
    const environment = { background: () => {}, clock, keyValue: nothing, log: pricesLog, timers };
    const provider = makeProvider(upstream, transport);
    const prices = makePriceList(config, environment, provider);
    await firstPrices({ config, prices });
    if (upstream.probe === "off") return;
    const problems = await probeProvider({ upstream, snapshot: prices.current(), provider, timers, log });
    const unlisted = prices.unlisted();
    if (unlisted.length > 0) {
      const ids = unlisted.map((id) => `\`${id}\``).join(", ");
      problems.push(
        `PRICES_FILE has models that the provider does not list: ${ids}. Correct their ids, or remove them.`,
      );
    }
    if (problems.length === 0) return;
    if (upstream.probe === "strict") {
      const override = "To start all the same, set UPSTREAM_PROBE=warn.";
      throw new SettingsError(`The gateway cannot start. ${[...problems, override].join("\n  ")}`);
    }
    for (const problem of problems) log("alert", "probe", { problem });
  });
}

const memory = { bodyMemoryBytes: Number.MAX_SAFE_INTEGER, answerMemoryBytes: Number.MAX_SAFE_INTEGER };

const configWithout = (settings: NodeSettings, { pricesFile }: Files) =>
  configOf(settings, { mostDrainMs: Number.MAX_SAFE_INTEGER, ...memory, pricesFile });

async function withUpstream(settings: NodeSettings, work: (upstream: UpstreamTransport) => Promise<void>) {
  const upstream = openUpstream(settings.UPSTREAM_BASE_URL);
  try {
    await work(upstream);
  } finally {
    await upstream.close();
  }
}

/** A check stores nothing. */
const nothing: Environment["keyValue"] = {
  get: async () => null,
  put: async () => {},
  delete: async () => {},
  list: async () => [],
};
