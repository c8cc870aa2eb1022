import {
  type Account,
  type Chain,
  createPublicClient,
  createWalletClient,
  defineChain,
  type HttpTransport,
  http,
  type PublicClient,
  type WalletClient,
} from "viem";

/** A node of a chain, and an account that sends through it. */
export type Connection = {
  reader: PublicClient<HttpTransport, Chain>;
  writer: WalletClient<HttpTransport, Chain, Account>;
};

/** How long a node may take for an answer. */
export const RPC_MS = 10_000;
const POLLING_MS = 100;

/** Sends each request once: the caller repeats it at its next poll. */
export function connect(options: { chainId: number; rpcUrl: string; account: Account }): Connection {
  const { chainId: id, rpcUrl, account } = options;
  const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };
  const rpcUrls = { default: { http: [rpcUrl] } };
  const chain = defineChain({ id, name: `chain ${id}`, nativeCurrency, rpcUrls });
  const transport = http(rpcUrl, { retryCount: 0, timeout: RPC_MS });
  const reader = createPublicClient({ chain, transport, pollingInterval: POLLING_MS, cacheTime: 0 });
  return { reader, writer: createWalletClient({ account, chain, transport }) };
}
