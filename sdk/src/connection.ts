import type { Hash, LocalAccount, Transport } from "viem";

export type ConnectionOptions = {
  /** The gateway's URL. Signed messages name it. */
  gateway: string;
  /** Signs messages, and signs or sends transactions. Not needed to read with an API key. */
  account?: Account | undefined;
  /** Reads with this key's credential instead of a session of the account. */
  apiKey?: string | undefined;
  /** The token of an open session, from `signIn`. Without an account, an expired session is not renewed. */
  session?: string | undefined;
  /** A node and trusted addresses, by chain id. Absent: the gateway's are used. */
  chains?: Readonly<Record<number, ChainOptions>> | undefined;
  fetch?: typeof fetch | undefined;
  /** The time between two polls of chains and gateway, in ms: 1,000. */
  pollMs?: number | undefined;
};

/** An account that signs transactions itself, or one whose wallet sends them. */
export type Account = LocalAccount | WalletAccount;

/**
 * An account whose wallet sends its transactions, such as a browser wallet's. The account may be a contract, such as a
 * Safe.
 */
export type WalletAccount = {
  type: "wallet";
  address: `0x${string}`;
  /** A contract's signature is for its ERC-1271 `isValidSignature`. */
  signMessage(options: { message: string }): Promise<`0x${string}`>;
  signTypedData: LocalAccount["signTypedData"];
  /**
   * Asks the wallet to sign and send, on that chain. A wallet with several owners may give the hash of something else
   * than a transaction.
   *
   * @param call.gas The limit that it needs, where the wallet's own estimate may be too low.
   */
  sendTransaction(call: {
    chainId: number;
    to: `0x${string}`;
    data: `0x${string}`;
    value: bigint;
    gas?: bigint;
  }): Promise<Hash>;
};

export type ChainOptions = {
  /** viem's transport, such as `http("https://node.example")`. */
  transport?: Transport;
  /** Contracts by name, as in `GET /api/v1/contracts`. An address here replaces the gateway's. */
  contracts?: Readonly<Record<string, `0x${string}`>>;
  /** The most that a transaction may cost, in 1e-18 of the chain's coin: 1e17, `MAX_COST_WEI`. */
  maxCostWei?: bigint;
};

/** The first parameter of every function. Contracts, nodes and the session are read once for a connection. */
export type Connection = {
  /** Without a slash at its end. */
  gateway: string;
  account: Account | null;
  apiKey: string | null;
  session: string | null;
  chains: Readonly<Record<number, ChainOptions>>;
  fetch: typeof fetch;
  pollMs: number;
};

/** Makes no request yet. */
export function connect(options: ConnectionOptions): Connection {
  const { gateway, account, apiKey, session, chains, fetch: own, pollMs } = options;
  return {
    gateway: new URL(gateway).href.replace(/\/+$/, ""),
    account: account ?? null,
    apiKey: apiKey ?? null,
    session: session ?? null,
    chains: chains ?? {},
    fetch: own ?? ((input, init) => fetch(input, init)),
    pollMs: pollMs ?? 1_000,
  };
}
