import { receiptOf } from "@inference/contracts/receipt";
import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import {
  type Address,
  createTestClient,
  type Hex,
  http,
  pad,
  publicActions,
  type TestClient,
  walletActions,
  zeroAddress,
} from "viem";
import { type HDAccount, mnemonicToAccount } from "viem/accounts";
import { foundry } from "viem/chains";

/** An account that every local chain starts with. */
export const account = (addressIndex: number): HDAccount =>
  mnemonicToAccount("test test test test test test test test test test test junk", { addressIndex });

export type LocalClient = ReturnType<typeof clientOf>;

/** Reads, writes and controls a local chain. */
export function clientOf({ chainId, rpcUrl }: { chainId: number; rpcUrl: string }) {
  const chain = { ...foundry, id: chainId };
  const options = { chain, mode: "anvil", transport: http(rpcUrl), pollingInterval: 5, cacheTime: 0 } as const;
  return createTestClient(options).extend(publicActions).extend(walletActions);
}

/** Remembers the state of chains. Answers what restores it. */
export async function remember(clients: readonly TestClient[]): Promise<() => Promise<void>> {
  const ids = await Promise.all(clients.map((client) => client.snapshot()));
  return async () => {
    await Promise.all(clients.map((client, index) => client.revert({ id: ids[index] ?? "0x" })));
  };
}

/** Throws if the transaction reverted. */
export async function succeeded(client: LocalClient, hash: Hex): Promise<void> {
  const { status } = await receiptOf(client, hash);
  if (status !== "success") throw new Error(`${hash} reverted`);
}

export type Delivery = { endpoint: Address; bridge: Address; srcEid: number; guid: Hex; message: Hex };

/** Hands a bridge a message of its peer, as LayerZero's endpoint does. Throws if the bridge refuses it. */
export async function deliverAsEndpoint(client: LocalClient, delivery: Delivery): Promise<void> {
  const { endpoint, bridge, srcEid, guid, message } = delivery;
  await client.impersonateAccount({ address: endpoint });
  await client.setBalance({ address: endpoint, value: 10n ** 18n });
  const hash = await client.writeContract({
    ...{ account: endpoint, address: bridge, abi: tokenBridgeAbi, functionName: "lzReceive", gas: 1_000_000n },
    args: [{ srcEid, sender: pad(bridge), nonce: 1n }, guid, message, zeroAddress, "0x"],
  });
  await client.stopImpersonatingAccount({ address: endpoint });
  await succeeded(client, hash);
}
