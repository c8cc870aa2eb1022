import { send } from "@inference/contracts/deployer";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import type { ReadyFile } from "../ready.ts";
import { walletOn } from "./wallet.ts";

/**
 * Activates a thousandth of a dollar after the other, from the first wallet, until it is stopped or the chain is
 * gone.
 */
export function keepActivating(ready: ReadyFile): { readonly sent: number; stop(): void } {
  const { account, at, payer } = walletOn(ready, "primary", 0);
  const state = { sent: 0, stopped: false };
  void (async () => {
    const stablecoin = { address: at("stablecoin"), abi: stablecoinAbi } as const;
    await send(payer, { ...stablecoin, functionName: "approve", args: [at("tokenMinter"), 10n ** 9n] });
    const minting = { address: at("tokenMinter"), abi: tokenMinterAbi, functionName: "mintAndActivate" } as const;
    for (; !state.stopped; state.sent += 1) await send(payer, { ...minting, args: [1_000n, account] });
  })().catch((error: unknown) => {
    if (!state.stopped) throw error;
  });
  return {
    get sent() {
      return state.sent;
    },
    stop() {
      state.stopped = true;
    },
  };
}
