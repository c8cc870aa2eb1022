import type { LocalAccount, Transport } from "viem";

export type ConnectionOptions = {
  /** The gateway's URL, the one that its signed messages name. */
  gateway: string;
  /** Signs messages and transactions. Not needed to read with an API key. */
  account?: LocalAccount | undefined;
  /** Reads with this key's credential instead of a session of the account. */
  apiKey?: string | undefined;
  /** A node, and trusted addresses, for each chain; by chain id. Without them the gateway's word is taken. */
  chains?: Readonly<Record<number, ChainOptions>> | undefined;
  fetch?: typeof fetch | undefined;
  /** How often chains and gateway are asked while a step waits, in ms: 1,000. */
  pollMs?: number | undefined;
};

export type ChainOptions = {
  /** viem's transport, such as `http("https://node.example")`. */
  transport?: Transport;
  /** Contracts by name, as in `GET /api/v1/contracts`. An address here wins over the gateway's. */
  contracts?: Readonly<Record<string, `0x${string}`>>;
};

/** What every function of this library takes first. What was read once is kept for it: contracts, nodes, a session. */
export type Connection = {
  /** Without a slash at its end. */
  gateway: string;
  account: LocalAccount | null;
  apiKey: string | null;
  chains: Readonly<Record<number, ChainOptions>>;
  fetch: typeof fetch;
  pollMs: number;
};

/** Makes no request yet. */
export function connect({ gateway, account, apiKey, chains, fetch: own, pollMs }: ConnectionOptions): Connection {
  return {
    gateway: new URL(gateway).href.replace(/\/+$/, ""),
    account: account ?? null,
    apiKey: apiKey ?? null,
    chains: chains ?? {},
    fetch: own ?? ((input, init) => fetch(input, init)),
    pollMs: pollMs ?? 1_000,
  };
}
