import { zeroAddress } from "viem";
import type { Chain } from "./chain.ts";
import { wallets } from "./wallets.ts";

/** The settings of the page's wallet. */
export type PageWallets = {
  wallets: { name: string; address: string }[];
  /** The first is the one that a wallet begins on. */
  chains: { chainId: number; rpcUrl: string }[];
};

/**
 * A script for the dashboard: wallets that need no extension (EIP-6963). They have no keys: the local chains' nodes
 * know those of every development chain, and sign whatever they are asked.
 */
export function pageWalletScript(chains: readonly Pick<Chain, "chainId" | "rpcUrl">[]): string {
  const [rich = zeroAddress, fresh = zeroAddress] = wallets.map(({ address }) => address);
  const given: PageWallets = {
    wallets: [
      { name: "Development wallet", address: fresh },
      { name: "Development wallet with a balance", address: rich },
    ],
    chains: chains.map(({ chainId, rpcUrl }) => ({ chainId, rpcUrl })),
  };
  return `(${announceWallets})(${JSON.stringify(given)});\n`;
}

type Asked = { method: string; params?: unknown[] };

/** Runs in the page, so it uses nothing from outside itself. */
export function announceWallets({ wallets, chains }: PageWallets): void {
  const icon =
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'%3E%3Crect width='8' height='8' rx='2' " +
    "fill='%23666'/%3E%3Cpath d='M1.5 2.5h5v3h-5z' fill='%23fff'/%3E%3C/svg%3E";
  const failed = (code: number, message: string): Error => Object.assign(new Error(message), { code });

  function makeProvider(address: string) {
    const listeners = new Map<string, Set<(value: unknown) => void>>();
    const emit = (event: string, value: unknown): void => {
      for (const listener of listeners.get(event) ?? []) listener(value);
    };
    const kept = (name: string): string => `development-wallet:${name}:${address}`;
    const accounts = (): string[] => (localStorage.getItem(kept("connected")) === null ? [] : [address]);
    const chainId = (): number => Number(localStorage.getItem(kept("chain")) ?? chains[0]?.chainId);

    async function ask(asked: Asked): Promise<unknown> {
      const rpcUrl = chains.find((chain) => chain.chainId === chainId())?.rpcUrl ?? "";
      const response = await fetch(rpcUrl, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...asked }),
      });
      const { result, error } = (await response.json()) as {
        result?: unknown;
        error?: { code: number; message: string; data?: unknown };
      };
      if (error !== undefined) throw Object.assign(failed(error.code, error.message), { data: error.data });
      return result;
    }

    async function request(asked: Asked): Promise<unknown> {
      const [first] = (asked.params ?? []) as [{ chainId?: string }?];
      switch (asked.method) {
        case "eth_requestAccounts":
          localStorage.setItem(kept("connected"), "yes");
          emit("accountsChanged", accounts());
          return accounts();
        case "eth_accounts":
          return accounts();
        case "eth_chainId":
          return `0x${chainId().toString(16)}`;
        case "wallet_requestPermissions":
          localStorage.setItem(kept("connected"), "yes");
          return [
            { parentCapability: "eth_accounts", caveats: [{ type: "restrictReturnedAccounts", value: [address] }] },
          ];
        case "wallet_revokePermissions":
          localStorage.removeItem(kept("connected"));
          return null;
        case "wallet_addEthereumChain":
          return null;
        case "wallet_switchEthereumChain": {
          const wanted = Number(first?.chainId);
          if (!chains.some((chain) => chain.chainId === wanted)) throw failed(4902, "There is no such chain here.");
          localStorage.setItem(kept("chain"), String(wanted));
          emit("chainChanged", `0x${wanted.toString(16)}`);
          return null;
        }
        case "eth_signTypedData_v4": {
          // As common wallets do.
          const { domain } = JSON.parse(String(asked.params?.[1])) as { domain: { chainId?: number | string } };
          const wanted = Number(domain.chainId ?? chainId());
          if (wanted !== chainId()) throw failed(-32603, `Chain ${wanted} must match the active chain.`);
          return ask(asked);
        }
        default:
          return ask(asked);
      }
    }

    return {
      request,
      on(event: string, listener: (value: unknown) => void) {
        listeners.set(event, (listeners.get(event) ?? new Set()).add(listener));
      },
      removeListener(event: string, listener: (value: unknown) => void) {
        listeners.get(event)?.delete(listener);
      },
    };
  }

  const details = wallets.map(({ name, address }, index) =>
    Object.freeze({
      info: Object.freeze({
        uuid: `6d6f636b-0000-4000-8000-${String(index).padStart(12, "0")}`,
        name,
        icon,
        rdns: `local.development.wallet${index}`,
      }),
      provider: makeProvider(address),
    }),
  );
  const announce = (): void => {
    for (const detail of details) dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
  };
  addEventListener("eip6963:requestProvider", announce);
  announce();
}
