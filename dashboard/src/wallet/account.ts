import type { WalletAccount } from "@inference/sdk/connection";
import { ClientError } from "@inference/sdk/errors";
import { createWalletClient, custom, type EIP1193Provider, http, type Transport, type WalletClient } from "viem";
import type { Config } from "wagmi";
import { getConnection, switchChain } from "wagmi/actions";
import { type Chain, chainName } from "../gateway.ts";

/** The connected wallet's account, as the library takes it. */
export function walletAccount(config: Config, address: `0x${string}`): WalletAccount {
  const client = async (): Promise<WalletClient> => {
    const provider = await providerOf(config);
    return createWalletClient({ account: address, transport: custom(provider, { retryCount: 0 }) });
  };
  /** Wallets sign typed data for their present chain only. */
  const goTo = async (chainId: number): Promise<void> => {
    // Asks the wallet for its chain, because its last event may be old.
    if ((await (await client()).getChainId()) !== chainId) await switchChain(config, { chainId });
  };
  return {
    type: "wallet",
    address,
    signMessage: async ({ message }) => (await client()).signMessage({ account: address, message }),
    signTypedData: async (typed) => {
      const { chainId } = (typed.domain ?? {}) as { chainId?: number };
      if (chainId !== undefined) await goTo(chainId);
      const signed = { account: address, ...typed } as unknown as Parameters<WalletClient["signTypedData"]>[0];
      return (await client()).signTypedData(signed);
    },
    async sendTransaction({ chainId, ...call }) {
      await goTo(chainId);
      const chain = config.chains.find(({ id }) => id === chainId) ?? null;
      return (await client()).sendTransaction({ account: address, chain, ...call });
    },
  };
}

/** Reads a chain through the wallet while it is on that chain, else through the node that the gateway names. */
export function chainTransport(config: Config, chain: Chain): Transport {
  const node = chain.rpc_url === null ? undefined : http(chain.rpc_url)({ retryCount: 1 });
  return custom({
    async request(asked: { method: string; params?: unknown }): Promise<unknown> {
      const { status, chainId } = getConnection(config);
      if (status === "connected" && chainId === chain.chain_id) {
        return (await providerOf(config)).request(asked as Parameters<EIP1193Provider["request"]>[0]);
      }
      if (node !== undefined) return node.request(asked as Parameters<typeof node.request>[0]);
      throw new ClientError("no_node", `Switch your wallet to ${chainName(chain)}: nothing else here can read it.`);
    },
  });
}

/** Reads a chain through the wallet alone. */
export function walletTransport(config: Config, chain: Chain): Transport {
  return custom({
    async request(asked: { method: string; params?: unknown }): Promise<unknown> {
      if (getConnection(config).chainId !== chain.chain_id) {
        throw new ClientError("wrong_chain", `Your wallet is not on ${chainName(chain)}.`);
      }
      return (await providerOf(config)).request(asked as Parameters<EIP1193Provider["request"]>[0]);
    },
  });
}

async function providerOf(config: Config): Promise<EIP1193Provider> {
  const { connector } = getConnection(config);
  const provider = await connector?.getProvider();
  if (provider === undefined || provider === null) {
    throw new ClientError("wallet_failed", "The wallet is no longer connected: connect it again.");
  }
  return provider as EIP1193Provider;
}
