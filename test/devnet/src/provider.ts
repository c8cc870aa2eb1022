import { randomInt } from "node:crypto";
import { formatUsd } from "@inference/protocol/money";
import type { DevnetClock } from "./clock.ts";
import { DevnetError } from "./devnet-error.ts";
import type { Processes } from "./processes.ts";
import { programs } from "./programs.ts";
import type { ProviderStaking } from "./provider-staking.ts";

export type ProviderOptions = {
  port: number;
  key: string;
  adminKey: string;
  clock: DevnetClock;
  environment: Readonly<Record<string, string | undefined>>;
};

/** Starts the provider simulator; resolves to its API's URL. */
export function startProvider(processes: Processes, options: ProviderOptions): Promise<string> {
  const { port, key, adminKey, clock, environment } = options;
  const own = {
    HOST: "127.0.0.1",
    PORT: String(port),
    MASTER_KEY: key,
    ADMIN_KEY: adminKey,
    CLOCK_OFFSET_MS: String(clock.offsetMs),
    // Answers' ids depend on the seed, and differ after another start.
    SEED: String(randomInt(1, 2 ** 32)),
  };
  return processes.start(programs.provider, { environment: { ...environment, ...own } }).ready();
}

/** Moves the running simulator to the devnet's time. Its bill and keys are in its memory. */
export function setProviderTime(url: string, { offsetMs }: Pick<DevnetClock, "offsetMs">): Promise<void> {
  return configure(url, { clockOffsetMs: offsetMs });
}

/** The simulator's staking: a unit is a dollar of allowance a day. */
export function simulatorStaking(url: string): ProviderStaking {
  return { stake: (allowanceNanoUsd) => configure(url, { stakedUnits: formatUsd(Number(allowanceNanoUsd)) }) };
}

async function configure(url: string, settings: Record<string, unknown>): Promise<void> {
  const response = await fetch(new URL("/__simulator/config", url), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(settings),
  });
  if (!response.ok) throw new DevnetError(`The provider simulator refused: ${await response.text()}`);
}

/** The gateway's settings for the simulator. */
export function simulatorSettings(url: string, keys: { key: string; adminKey: string }): Record<string, string> {
  return {
    UPSTREAM_BASE_URL: url,
    UPSTREAM_API_KEY: keys.key,
    UPSTREAM_PROFILE: "venice",
    UPSTREAM_ADMIN_KEY: keys.adminKey,
    // Its bill is compared with customers' uses.
    UPSTREAM_PROBE: "off",
  };
}
