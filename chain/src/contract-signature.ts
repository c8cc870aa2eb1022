import { ChainUnavailable, type SignatureQuery } from "@inference/protocol/chain-reader";
import { createClient, custom } from "viem";
import { verifyHash } from "viem/actions";
import { quantity } from "./chain-view.ts";
import { type ChainClient, RpcError } from "./rpc.ts";

/** Enough to deploy a wallet and to check a curve in Solidity. It also ends a contract that loops. */
const GAS = 10_000_000;

/**
 * Whether a wallet accepts a signature over a hash: ERC-1271, and ERC-6492 for a wallet that is not deployed yet.
 *
 * The library returns false for every failed call, even if the node is missing. So failures of the node are recorded,
 * and thrown.
 *
 * @throws ChainUnavailable if the node did not answer.
 */
export async function acceptsSignature(client: ChainClient, query: SignatureQuery): Promise<boolean> {
  let failure: ChainUnavailable | undefined;

  async function request({ method, params }: { method: string; params?: readonly unknown[] }): Promise<unknown> {
    try {
      return await client.request(method, method === "eth_call" ? withGas(params) : (params ?? []));
    } catch (error) {
      if (!(error instanceof RpcError && error.isContractFailure)) failure ??= asUnavailable(error);
      throw error;
    }
  }

  const { address, hash, signature } = query;
  // Without `ccipRead: false` a contract could make this machine send requests to any address.
  const viewer = createClient({ transport: custom({ request }, { retryCount: 0 }), ccipRead: false });
  // It throws on bytes that only look like a wrapped signature. No wallet has accepted those.
  const accepted = await verifyHash(viewer, { address, hash, signature }).catch(() => false);
  if (!accepted && failure !== undefined) throw failure;
  return accepted;
}

function withGas(params: readonly unknown[] = []): readonly unknown[] {
  const [call, ...rest] = params;
  return [{ ...(call as object), gas: quantity(GAS) }, ...rest];
}

function asUnavailable(error: unknown): ChainUnavailable {
  if (error instanceof ChainUnavailable) return error;
  return new ChainUnavailable(error instanceof Error ? error.message : "the node did not answer", { cause: error });
}
