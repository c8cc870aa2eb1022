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

/**
 * Reads the settings of `npm start`; empty values count as absent. Throws {@link DevnetError} naming all wrong ones.
 */
export function readSettings(variables: Variables): DevnetSettings {
  const given = (name: string): string | undefined => variables[name] || undefined;
  const wrong: string[] = [];
  for (const name of NOT_HERE) {
    if (given(name) === undefined) continue;
    wrong.push(`${name} is set, but npm start has a chain of its own: unset it, or use npm run gateway.`);
  }
  const chainIdText = given("PRIMARY_CHAIN_ID") ?? "31337";
  wrong.push(...wrongChainId(chainIdText));
  const upstreamUrl = given("UPSTREAM_BASE_URL");
  wrong.push(...wrongUpstream(upstreamUrl, given("UPSTREAM_API_KEY")));
  const portTexts = {
    GATEWAY_PORT: given("GATEWAY_PORT"),
    CHAIN_PORT: given("CHAIN_PORT"),
    PROVIDER_PORT: given("PROVIDER_PORT"),
  };
  wrong.push(...wrongPorts(portTexts));
  const port = (name: PortSetting): number => Number(portTexts[name] ?? DEFAULT_PORTS[name]);
  const ports = {
    GATEWAY_PORT: port("GATEWAY_PORT"),
    CHAIN_PORT: port("CHAIN_PORT"),
    // With a provider of the user's own nothing listens there.
    PROVIDER_PORT: upstreamUrl === undefined ? port("PROVIDER_PORT") : 0,
  };
  wrong.push(...samePorts(ports));
  if (wrong.length > 0) throw new DevnetError(wrong.join(" "));
  return {
    folder: given("DEVNET_DIR") ?? ".devnet",
    chainId: Number(chainIdText),
    ports,
    upstream: upstreamUrl === undefined ? undefined : { url: upstreamUrl },
  };
}

function wrongPorts(texts: Readonly<Record<PortSetting, string | undefined>>): string[] {
  return Object.entries(texts).flatMap(([name, text]) => {
    if (text === undefined || (/^\d{1,5}$/.test(text) && Number(text) <= 65_535)) return [];
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
