import { confirm, type Deployer, send } from "@inference/contracts/deployer";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { inferenceTokenAbi } from "@inference/protocol/abi/inference-token";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { tokenBackingOutboxAbi } from "@inference/protocol/abi/token-backing-outbox";
import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import { type Address, createPublicClient, createTestClient, createWalletClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import type { ReadyFile } from "../ready.ts";

/** An account's credit on the contract. */
export function creditOf(ready: ReadyFile, account: Address): Promise<bigint> {
  const { at, reader } = walletOn(ready, "primary", 0);
  const settlement = { address: at("inferenceSettlement"), abi: inferenceSettlementAbi } as const;
  return reader.readContract({ ...settlement, functionName: "creditNanoUsd", args: [account] });
}

/** A wallet of the devnet on one of its chains, with the actions of its owner. Amounts are in token units. */
export function walletOn(ready: ReadyFile, name: string, index: number) {
  const { chainId, rpcUrl } = ready.chains.find((each) => each.name === name) ?? { chainId: 0, rpcUrl: "" };
  const account = privateKeyToAccount(ready.wallets[index]?.privateKey ?? "0x");
  const options = { chain: { ...foundry, id: chainId }, transport: http(rpcUrl) };
  const payer: Deployer = {
    ...{ chainId, account },
    reader: createPublicClient({ ...options, pollingInterval: 20, cacheTime: 0 }),
    writer: createWalletClient({ ...options, account }),
  };
  const { reader } = payer;
  const at = (contract: string): Address => ready.contracts[name]?.[contract] ?? "0x";
  const token = { address: at("inferenceToken"), abi: inferenceTokenAbi } as const;
  const minter = { address: at("tokenMinter"), abi: tokenMinterAbi } as const;
  const bridge = { address: at("tokenBridge"), abi: tokenBridgeAbi } as const;
  const outbox = { address: at("tokenBackingOutbox"), abi: tokenBackingOutboxAbi } as const;
  const fee = (eid: number) => reader.readContract({ ...bridge, functionName: "quote", args: [eid] });
  return {
    chainId,
    account: account.address,
    ...{ at, payer, reader },
    tokens: () => reader.readContract({ ...token, functionName: "balanceOf", args: [account.address] }),
    pending: () => reader.readContract({ ...outbox, functionName: "pending" }),
    async mint(amount: bigint) {
      const scale = await reader.readContract({ ...minter, functionName: "SCALE" });
      const approval = { address: at("stablecoin"), abi: stablecoinAbi, functionName: "approve" } as const;
      await send(payer, { ...approval, args: [minter.address, amount * scale] });
      await send(payer, { ...minter, functionName: "mint", args: [amount] });
    },
    async bridge(dstEid: number, amount: bigint) {
      const args = [dstEid, amount, account.address, account.address] as const;
      await confirm(
        payer,
        "bridge",
        await payer.writer.writeContract({ ...bridge, functionName: "bridge", args, value: await fee(dstEid) }),
      );
    },
    async activateOnBase(amount: bigint) {
      const value = await fee(ready.chains[0]?.chainId ?? 0);
      await confirm(
        payer,
        "activateOnBase",
        await payer.writer.writeContract({ ...bridge, functionName: "activateOnBase", args: [amount], value }),
      );
    },
    /** The clock goes on, and nothing else happens on the chain. */
    async passTime(seconds: number) {
      await createTestClient({ ...options, mode: "anvil" }).increaseTime({ seconds });
    },
  };
}
