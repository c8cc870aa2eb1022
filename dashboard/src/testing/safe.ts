import { randomBytes } from "node:crypto";
import { safeWallet } from "@inference/sdk/testing/node-wallet";
import type { BrowserContext } from "playwright-core";
import { type Address, createPublicClient, type Hex, hexToString, http } from "viem";

type Asked = { method: string; params?: unknown[] };
type Call = { to: Address; data: Hex; value?: Hex };

/**
 * Announces a Safe as a wallet. It signs by ERC-1271. The wallet returns another hash than the transaction's, like
 * Safes with several owners.
 */
export async function announceSafe(
  context: BrowserContext,
  { rpcUrl, chainId, safe, owner }: { rpcUrl: string; chainId: number; safe: Address; owner: Address },
): Promise<void> {
  const wallet = safeWallet({ [chainId]: rpcUrl }, { safe, owner, chainId });
  const node = createPublicClient({ transport: http(rpcUrl) });
  let isConnected = false;
  await context.exposeFunction("askSafe", async ({ method, params = [] }: Asked): Promise<unknown> => {
    switch (method) {
      case "eth_requestAccounts":
        isConnected = true;
        return [safe];
      case "eth_accounts":
        return isConnected ? [safe] : [];
      case "eth_chainId":
        return `0x${chainId.toString(16)}`;
      case "wallet_requestPermissions":
        isConnected = true;
        return [{ parentCapability: "eth_accounts", caveats: [{ type: "restrictReturnedAccounts", value: [safe] }] }];
      case "personal_sign":
        return wallet.signMessage({ message: hexToString(params[0] as Hex) });
      case "eth_sendTransaction": {
        const { to, data, value = "0x0" } = params[0] as Call;
        await wallet.sendTransaction({ chainId, to, data, value: BigInt(value) });
        return `0x${randomBytes(32).toString("hex")}`;
      }
      default:
        return node.request({ method, params } as Parameters<typeof node.request>[0]);
    }
  });
  await context.addInitScript(() => {
    const { askSafe } = globalThis as unknown as { askSafe(asked: Asked): Promise<unknown> };
    const info = {
      ...{ uuid: "6d6f636b-0000-4000-8000-0000000005af", name: "Safe", rdns: "local.safe" },
      icon: "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'/%3E",
    };
    const detail = Object.freeze({ info, provider: { request: askSafe, on() {}, removeListener() {} } });
    const announce = () => dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
    addEventListener("eip6963:requestProvider", announce);
    announce();
  });
}
