import { type Address, lowerAddress } from "@inference/protocol/credential";
import { fail } from "@inference/protocol/errors";
import { limits } from "../config.ts";
import type { Environment } from "../environment.ts";
import { BoundedMap } from "../load/bounded-map.ts";
import type { Semaphore } from "../load/semaphore.ts";
import { makeSingleFlight } from "../load/single-flight.ts";

/**
 * Checks who owns agent tokens. Both methods throw 403 `not_agent_owner`, `ChainUnavailable` if the chain does not
 * answer, and 503 `overloaded` if too many reads of the chain are in progress, in all or for this client.
 */
export type AgentOwners = {
  /** Requires that the wallet owns the token now. Reads the chain. For sign-in. */
  requireNow(agentToken: Address, wallet: Address, client: string | undefined): Promise<void>;
  /** Requires that it did at most `limits.agentOwnerMs` ago. For requests with a session. */
  requireLately(agentToken: Address, wallet: Address, client: string | undefined): Promise<void>;
};

/** Tokens whose owner is remembered. */
const MAX_REMEMBERED = 10_000;

type Ownership = { owner: Address | null; readAt: number };

export function makeAgentOwners(environment: Environment, chainReads: Semaphore): AgentOwners {
  const { chain, clock } = environment;
  const remembered = new BoundedMap<Address, Ownership>(MAX_REMEMBERED);
  const once = makeSingleFlight<Address | null>(environment);

  function read(agentToken: Address, client: string | undefined): Promise<Address | null> {
    return once(agentToken, async () => {
      // The time before the read: the answer may be as old.
      const readAt = clock.now();
      const owner = await chainReads(() => chain.agentOwner(agentToken), client);
      remembered.set(agentToken, { owner: owner === null ? null : lowerAddress(owner), readAt });
      return owner;
    });
  }

  return {
    async requireNow(agentToken, wallet, client) {
      requireOwner(agentToken, wallet, await read(agentToken, client));
    },
    async requireLately(agentToken, wallet, client) {
      const known = remembered.get(agentToken);
      const age = clock.now() - (known?.readAt ?? 0);
      const isLately = known !== undefined && age >= 0 && age < limits.agentOwnerMs;
      requireOwner(agentToken, wallet, isLately ? known.owner : await read(agentToken, client));
    },
  };
}

function requireOwner(agentToken: Address, wallet: Address, owner: Address | null): void {
  if (owner === null) {
    const message = "has no owner on the primary chain: name a contract there whose `owner()` is your wallet.";
    fail("not_agent_owner", `agentToken ${agentToken} ${message}`);
  }
  if (lowerAddress(owner) === wallet) return;
  fail("not_agent_owner", `${wallet} does not own the agent token ${agentToken}: sign in with the owner's wallet.`);
}
