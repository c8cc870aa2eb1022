import { makePriceList } from "@inference/gateway/catalogue/price-list";
import type { Environment, UpstreamTransport } from "@inference/gateway/environment";
import { firstPrices } from "@inference/gateway/jobs/jobs";
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

/** Throws `SettingsError` if the gateway could not start because of its prices or model aliases. */
export async function checkPrices(settings: NodeSettings, files: Files): Promise<void> {
  await withUpstream(settings, async (transport) => {
    const config = configWithout(settings, files);
    const environment = { background: () => {}, clock: { now: Date.now }, keyValue: nothing, log, timers };
    await firstPrices({ config, prices: makePriceList(config, environment, makeProvider(config.upstream, transport)) });
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
