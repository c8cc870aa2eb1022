import { LOCAL_CHAIN_IDS } from "@inference/contracts/deploy";
import { DevnetError } from "./devnet-error.ts";

type Variables = Readonly<Record<string, string | undefined>>;

export type DevnetSettings = {
  folder: string;
  chainId: number;
  /** 0 for any free one. */
  ports: Ports;
  /** A provider of the user's own; undefined for the simulator. */
  upstream: { url: string } | undefined;
};
export type Ports = Readonly<Record<PortSetting, number>>;
export type PortSetting = keyof typeof DEFAULT_PORTS;

export const DEFAULT_PORTS = { GATEWAY_PORT: 8787, CHAIN_PORT: 8545, PROVIDER_PORT: 8788 } as const;

/** What the devnet decides itself, and a user who sets it would expect to be heard. */
const NOT_HERE = ["PRIMARY_RPC_URL", "SETTLEMENT_ADDRESS"];

/** Reads the settings of `npm start`; empty values count as absent. Throws {@link DevnetError} for a wrong one. */
export function readSettings(variables: Variables): DevnetSettings {
  const given = (name: string): string | undefined => variables[name] || undefined;
  for (const name of NOT_HERE) {
    if (given(name) === undefined) continue;
    throw new DevnetError(`${name} is set, but npm start has a chain of its own: unset it, or use npm run gateway.`);
  }
  return {
    folder: given("DEVNET_DIR") ?? ".devnet",
    chainId: localChainId(given("PRIMARY_CHAIN_ID") ?? "31337"),
    ports: {
      GATEWAY_PORT: port("GATEWAY_PORT", given("GATEWAY_PORT")),
      CHAIN_PORT: port("CHAIN_PORT", given("CHAIN_PORT")),
      PROVIDER_PORT: port("PROVIDER_PORT", given("PROVIDER_PORT")),
    },
    upstream: upstream(given("UPSTREAM_BASE_URL"), given("UPSTREAM_API_KEY")),
  };
}

function port(name: PortSetting, text: string | undefined): number {
  if (text === undefined) return DEFAULT_PORTS[name];
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new DevnetError(`${name} must be a port number from 0 to 65535 (0 for any free one), not ${text}.`);
}

function localChainId(text: string): number {
  const chainId = Number(text);
  if (LOCAL_CHAIN_IDS.includes(chainId)) return chainId;
  throw new DevnetError(
    `PRIMARY_CHAIN_ID ${text} is not a local chain (${LOCAL_CHAIN_IDS.join(", ")}): development keys are public, ` +
      "and have no place on any other.",
  );
}

function upstream(url: string | undefined, key: string | undefined): DevnetSettings["upstream"] {
  if (url === undefined && key === undefined) return undefined;
  if (url === undefined)
    throw new DevnetError("UPSTREAM_API_KEY is set and UPSTREAM_BASE_URL is not: set both, or neither.");
  if (key === undefined)
    throw new DevnetError("UPSTREAM_BASE_URL is set and UPSTREAM_API_KEY is not: set both, or neither.");
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? "")) {
    throw new DevnetError(
      `UPSTREAM_BASE_URL must be an http(s) URL, like https://provider.example/api/v1, not ${url}.`,
    );
  }
  return { url };
}
