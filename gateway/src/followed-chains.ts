import type { Address } from "@inference/protocol/credential";
import type { FollowedChain, FollowedChains } from "@inference/protocol/dollars";
import { ownValue } from "@inference/protocol/own-value";
import type { KnownChain } from "./chain-directory.ts";

/**
 * @param nodes RPC URLs by chain id: of the secondary chains that are followed.
 * @returns `problem` if a chain that is named there is no secondary chain of the list, or lacks what is needed.
 */
export function followedChains(
  chains: readonly KnownChain[],
  primaryRpcUrl: string,
  nodes: Readonly<Record<string, string>>,
): { followed: FollowedChains | null; problem?: string } {
  const wanted = Object.entries(nodes);
  if (wanted.length === 0) return { followed: null };
  try {
    const [primary, ...others] = chains;
    const secondaries = wanted.map(([chainId, rpcUrl]) =>
      followedChain(
        others.find((chain) => String(chain.chainId) === chainId),
        { chainId, rpcUrl },
      ),
    );
    const followed = followedChain(primary, { chainId: "", rpcUrl: primaryRpcUrl });
    return { followed: { primary: followed, secondaries } };
  } catch (error) {
    return { followed: null, problem: error instanceof Error ? error.message : String(error) };
  }
}

function followedChain(chain: KnownChain | undefined, ours: { chainId: string; rpcUrl: string }): FollowedChain {
  if (chain === undefined) throw new TypeError(`chain ${ours.chainId} is no secondary chain in CHAINS`);
  const { chainId, eid, startBlock, contracts, role } = chain;
  const of = (name: string): Address => {
    const address = ownValue(contracts, name);
    if (address === undefined) throw new TypeError(`CHAINS has no ${name} on chain ${chainId}`);
    return address;
  };
  if (eid === null) throw new TypeError(`CHAINS has no eid for chain ${chainId}`);
  return {
    ...{ chainId, eid, startBlock, rpcUrl: ours.rpcUrl },
    token: of("inferenceToken"),
    bridge: of("tokenBridge"),
    minter: role === "primary" ? of("tokenMinter") : null,
    outbox: role === "primary" ? null : of("tokenBackingOutbox"),
  };
}
