import { type ChainClient, RpcError } from "@inference/chain/rpc";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { encodeErrorResult, type Hex, toFunctionSelector, toHex } from "viem";

/** A node that answers falsely and otherwise as the honest one. */
export type Lie = (honest: ChainClient) => ChainClient;

type View = "ceilingOn" | "paidNanoUsd";
type Lies = { [V in View]?: () => bigint } & {
  /** A gas, or the name of an error. */
  estimate?: bigint | "OnlySettler" | "CeilingReached";
  nonce?: (truth: bigint) => bigint;
};

export function methodsOf(lies: Lies): Lie {
  return (honest) => ({
    async request(method, params) {
      const { data = "0x" } = (params[0] ?? {}) as { data?: Hex };
      if (method === "eth_call") {
        for (const view of ["ceilingOn", "paidNanoUsd"] as const) {
          const lie = lies[view];
          if (lie !== undefined && data.startsWith(selectorOf(view))) return toHex(lie(), { size: 32 });
        }
      }
      if (method === "eth_estimateGas" && lies.estimate !== undefined) return estimateOf(lies.estimate);
      const truth = await honest.request(method, params);
      if (method === "eth_getTransactionCount" && lies.nonce !== undefined)
        return toHex(lies.nonce(BigInt(truth as Hex)));
      return truth;
    },
  });
}

function estimateOf(lie: bigint | "OnlySettler" | "CeilingReached"): Hex {
  if (typeof lie === "bigint") return toHex(lie);
  const terms = lie === "OnlySettler" ? { errorName: lie } : { errorName: lie, args: [1n] as const };
  throw new RpcError(3, "execution reverted", encodeErrorResult({ abi: inferenceSettlementAbi, ...terms }));
}

function selectorOf(view: View): Hex {
  const item = inferenceSettlementAbi.find((one) => one.type === "function" && one.name === view);
  if (item?.type !== "function") throw new TypeError(`there is no ${view}`);
  return toFunctionSelector(item);
}
