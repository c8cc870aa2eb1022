import { receiptOf } from "@inference/contracts/receipt";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import { type Address, createPublicClient, createWalletClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import type { ReadyFile } from "../ready.ts";

/**
 * Activates a thousandth of a dollar after the other, from the first wallet, until it is stopped or the chain is
 * gone.
 */
export function keepActivating(ready: ReadyFile): { readonly sent: number; stop(): void } {
  const { account, address, transport } = firstWallet(ready);
  const reader = createPublicClient({ chain: foundry, transport, pollingInterval: 5 });
  const writer = createWalletClient({ account, chain: foundry, transport });
  let sent = 0;
  let stopped = false;
  void (async () => {
    const minter = address("tokenMinter");
    let hash = await writer.writeContract({
      address: address("stablecoin"),
      abi: stablecoinAbi,
      functionName: "approve",
      args: [minter, 10n ** 9n],
    });
    while (!stopped) {
      await receiptOf(reader, hash);
      hash = await writer.writeContract({
        address: minter,
        abi: tokenMinterAbi,
        functionName: "mintAndActivate",
        args: [1_000n, account.address],
      });
      sent += 1;
    }
  })().catch((error: unknown) => {
    if (!stopped) throw error;
  });
  return {
    get sent() {
      return sent;
    },
    stop() {
      stopped = true;
    },
  };
}

/** The first wallet's credit on the contract. */
export function creditOnChain(ready: ReadyFile): Promise<bigint> {
  const { account, address, transport } = firstWallet(ready);
  return createPublicClient({ transport }).readContract({
    address: address("inferenceSettlement"),
    abi: inferenceSettlementAbi,
    functionName: "creditNanoUsd",
    args: [account.address],
  });
}

function firstWallet(ready: ReadyFile) {
  const wallet = ready.wallets[0];
  if (wallet === undefined) throw new Error("no wallet");
  return {
    account: privateKeyToAccount(wallet.privateKey),
    transport: http(ready.chains[0]?.rpcUrl, { retryCount: 0, timeout: 2_000 }),
    address(name: string): Address {
      const address = ready.contracts.primary?.[name];
      if (address === undefined) throw new Error(`no ${name}`);
      return address;
    },
  };
}
