import { LOCAL_CHAIN_IDS } from "@inference/contracts/deploy";
import { ownValue } from "@inference/protocol/own-value";
import { DevnetError } from "./devnet-error.ts";
import type { LocalChainName } from "./third-parties/local-chains.ts";

type Variables = Readonly<Record<string, string | undefined>>;

export type DevnetSettings = {
  folder: string;
  /** The two secondary chains have the other local ids. */
  chainIds: Readonly<Record<LocalChainName, number>>;
  /** 0 for any free one. */
  ports: Ports;
  /** A provider of the user's own; undefined for the simulator. */
  upstream: { url: string } | undefined;
  /** Messages about settings that are not read. */
  unheard: readonly string[];
};
export type Ports = Readonly<Record<PortSetting, number>>;
export type PortSetting = keyof typeof DEFAULT_PORTS;

export const DEFAULT_PORTS = {
  GATEWAY_PORT: 8787,
  CHAIN_PORT: 8545,
  SECONDARY1_PORT: 8546,
  SECONDARY2_PORT: 8547,
  PROVIDER_PORT: 8788,
  RELAY_PORT: 8790,
} as const;

const LAST_PORT = 65_535;

const chainOfItsOwn = "npm start has a chain of its own: unset it, or use npm run gateway";
const simulatorsOwn =
  "npm start says how its simulator is asked: unset it, or set UPSTREAM_PROFILE or UPSTREAM_BASE_URL as well";

/** Settings that the devnet decides itself. A user who sets one gets an error. */
const NOT_HERE: Readonly<Record<string, string>> = {
  PRIMARY_RPC_URL: chainOfItsOwn,
  PRIMARY_ANCHOR: chainOfItsOwn,
  SETTLEMENT_ADDRESS: chainOfItsOwn,
  SETTLEMENT_START_BLOCK: chainOfItsOwn,
  TOKEN_ADDRESS: chainOfItsOwn,
  MINTER_ADDRESS: chainOfItsOwn,
  STABLECOIN_ADDRESS: chainOfItsOwn,
  BRIDGE_ADDRESS: chainOfItsOwn,
  POOL_ADDRESS: chainOfItsOwn,
  REGISTRY_ADDRESS: chainOfItsOwn,
  CHAINS: chainOfItsOwn,
  SECONDARY_RPC_URLS: chainOfItsOwn,
  SETTLER_PRIVATE_KEY: chainOfItsOwn,
  SETTLER_KEYSTORE: chainOfItsOwn,
  BASE_URL: "npm start has its gateway on 127.0.0.1: set GATEWAY_PORT, or use npm run gateway",
  GATEWAY_SECRET: "npm start makes and keeps its own: unset it, or use npm run gateway",
  DATABASE_FILE: "npm start keeps it with everything else: set DEVNET_DIR",
  RELAY_URL: "npm start has a relay of its own: unset it, or use npm run gateway",
  RELAY_SECRET: "npm start has a relay of its own: unset it, or use npm run gateway",
  WEBHOOK_TARGETS: "npm start permits webhooks to this machine: unset it, or use npm run gateway",
};
const NOT_WITH_THE_SIMULATOR: Readonly<Record<string, string>> = {
  UPSTREAM_PROBE: simulatorsOwn,
  UPSTREAM_CHAT_EXTRAS: simulatorsOwn,
  UPSTREAM_RECORD_URL: simulatorsOwn,
  UPSTREAM_RECORD_KEY: simulatorsOwn,
  UPSTREAM_ADMIN_KEY: simulatorsOwn,
  UPSTREAM_BILLING_URL: simulatorsOwn,
  UPSTREAM_BILLING_KEY: simulatorsOwn,
  UPSTREAM_BLOCKED_HEADER: simulatorsOwn,
};
/** A machine may have these for other programs: whoever meant this one is told, and nobody is stopped. */
const NOT_READ: Readonly<Record<string, string>> = {
  PORT: "npm start does not read it: GATEWAY_PORT is the gateway's port",
  HOST: "npm start does not read it: everything listens on 127.0.0.1",
};

/**
 * Reads the settings of `npm start`; empty values count as absent. Throws {@link DevnetError} naming all wrong ones.
 */
export function readSettings(variables: Variables): DevnetSettings {
  const given = (name: string): string | undefined => ownValue(variables, name) || undefined;
  const wrong: string[] = [];
  const unheard = (names: Readonly<Record<string, string>>): string[] =>
    Object.entries(names).flatMap(([name, why]) => (given(name) === undefined ? [] : [`${name} is set, but ${why}.`]));
  wrong.push(...unheard(NOT_HERE));
  const chainIdText = given("PRIMARY_CHAIN_ID") ?? "31337";
  wrong.push(...wrongChainId(chainIdText));
  const profile = given("UPSTREAM_PROFILE");
  const upstreamUrl = given("UPSTREAM_BASE_URL");
  // The gateway itself says what a profile still needs.
  if (profile === undefined) wrong.push(...wrongUpstream(upstreamUrl, given("UPSTREAM_API_KEY")));
  const upstream = upstreamUrl ?? profile;
  if (upstream === undefined) wrong.push(...unheard(NOT_WITH_THE_SIMULATOR));
  const names = Object.keys(DEFAULT_PORTS) as PortSetting[];
  const portTexts = byName(names, given);
  const noPorts = wrongPorts(portTexts);
  wrong.push(...noPorts);
  const ports = {
    ...byName(names, (name) => Number(portTexts[name] ?? defaultPort(name, portTexts.CHAIN_PORT))),
    // With a provider of the user's own nothing listens there.
    ...(upstream === undefined ? {} : { PROVIDER_PORT: 0 }),
  };
  if (noPorts.length === 0) wrong.push(...samePorts(ports));
  if (wrong.length > 0) throw new DevnetError(wrong.join(" "));
  const primary = Number(chainIdText);
  const [secondary1 = 0, secondary2 = 0] = LOCAL_CHAIN_IDS.filter((chainId) => chainId !== primary);
  return {
    folder: given("DEVNET_DIR") ?? ".devnet",
    chainIds: { primary, secondary1, secondary2 },
    ports,
    upstream: upstream === undefined ? undefined : { url: upstream },
    unheard: unheard(NOT_READ),
  };
}

function byName<T>(names: readonly PortSetting[], read: (name: PortSetting) => T): Record<PortSetting, T> {
  return Object.fromEntries(names.map((name) => [name, read(name)])) as Record<PortSetting, T>;
}

/** The secondary chains follow the primary chain's port. */
function defaultPort(name: PortSetting, chainPort: string | undefined): number {
  const moved = Number(chainPort ?? DEFAULT_PORTS.CHAIN_PORT) - DEFAULT_PORTS.CHAIN_PORT;
  if (name !== "SECONDARY1_PORT" && name !== "SECONDARY2_PORT") return DEFAULT_PORTS[name];
  return chainPort === "0" ? 0 : Math.min(DEFAULT_PORTS[name] + moved, LAST_PORT);
}

function wrongPorts(texts: Readonly<Record<PortSetting, string | undefined>>): string[] {
  return Object.entries(texts).flatMap(([name, text]) => {
    if (text === undefined || (/^\d{1,5}$/.test(text) && Number(text) <= LAST_PORT)) return [];
    return [`${name} must be a port number from 0 to 65535 (0 for any free one), not ${text}.`];
  });
}

function samePorts(ports: Ports): string[] {
  const settings = Object.entries(ports).sort(([one], [other]) => one.localeCompare(other));
  return settings.flatMap(([name, port], index) => {
    const same = settings.slice(index + 1).filter(([, other]) => other === port && port !== 0);
    return same.map(([other]) => `${name} and ${other} are both ${port}: set one to another (0: any free one).`);
  });
}

function wrongChainId(text: string): string[] {
  if (LOCAL_CHAIN_IDS.includes(Number(text))) return [];
  return [
    `PRIMARY_CHAIN_ID ${text} is not a local chain (${LOCAL_CHAIN_IDS.join(", ")}): development keys are public, ` +
      "and have no place on any other.",
  ];
}

function wrongUpstream(url: string | undefined, key: string | undefined): string[] {
  if (url === undefined && key === undefined) return [];
  if (url === undefined) return ["UPSTREAM_API_KEY is set and UPSTREAM_BASE_URL is not: set both, or neither."];
  if (key === undefined) return ["UPSTREAM_BASE_URL is set and UPSTREAM_API_KEY is not: set both, or neither."];
  if (/^https?:$/.test(URL.parse(url)?.protocol ?? "")) return [];
  return [`UPSTREAM_BASE_URL must be an http(s) URL, like https://provider.example/api/v1, not ${url}.`];
}
