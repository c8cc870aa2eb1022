import { receiptOf } from "@inference/contracts/receipt";
import { inferenceTokenAbi } from "@inference/protocol/abi/inference-token";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { tokenBackingOutboxAbi } from "@inference/protocol/abi/token-backing-outbox";
import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import { type Address, createPublicClient, createTestClient, createWalletClient, type Hex, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import type { ReadyFile } from "../ready.ts";

/** A wallet of the devnet on one of its chains, with the actions of its owner. Amounts are in token units. */
export function walletOn(ready: ReadyFile, name: string, index: number) {
  const { chainId, rpcUrl } = ready.chains.find((each) => each.name === name) ?? { chainId: 0, rpcUrl: "" };
  const account = privateKeyToAccount(ready.wallets[index]?.privateKey ?? "0x");
  const options = { chain: { ...foundry, id: chainId }, transport: http(rpcUrl) };
  const reader = createPublicClient({ ...options, pollingInterval: 20, cacheTime: 0 });
  const writer = createWalletClient({ ...options, account });
  const at = (contract: string): Address => ready.contracts[name]?.[contract] ?? "0x";
  const token = { address: at("inferenceToken"), abi: inferenceTokenAbi } as const;
  const minter = { address: at("tokenMinter"), abi: tokenMinterAbi } as const;
  const bridge = { address: at("tokenBridge"), abi: tokenBridgeAbi } as const;
  const outbox = { address: at("tokenBackingOutbox"), abi: tokenBackingOutboxAbi } as const;
  const sent = async (hash: Hex): Promise<void> => {
    const { status } = await receiptOf(reader, hash);
    if (status !== "success") throw new Error(`${hash} reverted`);
  };
  const fee = (eid: number) => reader.readContract({ ...bridge, functionName: "quote", args: [eid] });
  return {
    chainId,
    account: account.address,
    reader,
    tokens: () => reader.readContract({ ...token, functionName: "balanceOf", args: [account.address] }),
    pending: () => reader.readContract({ ...outbox, functionName: "pending" }),
    async mint(amount: bigint) {
      const scale = await reader.readContract({ ...minter, functionName: "SCALE" });
      const approval = { address: at("stablecoin"), abi: stablecoinAbi, functionName: "approve" } as const;
      await sent(await writer.writeContract({ ...approval, args: [minter.address, amount * scale] }));
      await sent(await writer.writeContract({ ...minter, functionName: "mint", args: [amount] }));
    },
    async bridge(dstEid: number, amount: bigint) {
      const args = [dstEid, amount, account.address, account.address] as const;
      await sent(await writer.writeContract({ ...bridge, functionName: "bridge", args, value: await fee(dstEid) }));
    },
    async activateOnBase(amount: bigint) {
      const value = await fee(ready.chains[0]?.chainId ?? 0);
      await sent(await writer.writeContract({ ...bridge, functionName: "activateOnBase", args: [amount], value }));
    },
    /** The clock goes on, and nothing else happens on the chain. */
    async passTime(seconds: number) {
      await createTestClient({ ...options, mode: "anvil" }).increaseTime({ seconds });
    },
  };
}
