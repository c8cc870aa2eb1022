import type { LedgerClient } from "@inference/ledger/client";
import type { Activation } from "@inference/ledger/commands";
import { chainPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import type { Keccak } from "@inference/protocol/merkle-tree";
import { inPlace, readBlock } from "./chain-view.ts";
import type { Confirmations, Heads } from "./heads.ts";
import { contradictionOf, readRange } from "./range.ts";
import { type ChainClient, ChainContradiction } from "./rpc.ts";
import { disagreementOf } from "./second-node.ts";

/**
 * Credits activations before their block is final, for an operator who sets a number of confirmations and bears the
 * loss from a reorg. It needs no cursor: an account's total of activations only grows, and the larger figure counts.
 * The same events are read again when they are final.
 */
export type EarlyCredit = {
  /**
   * @param seen The activations after the final block, which is the last one in the ledger.
   * @returns The last block whose activations are credited.
   * @throws RpcError if the node refuses the range; ChainContradiction if it contradicts the ledger.
   */
  poll(heads: Heads, seen: readonly Activation[]): Promise<number>;
};

export function createEarlyCredit(options: {
  client: ChainClient;
  chainId: number;
  settlement: Address;
  confirmations: Confirmations;
  ledger: LedgerClient;
  now(): number;
  secondNode?: ChainClient | undefined;
  keccak?: Keccak | undefined;
}): EarlyCredit {
  const { client, chainId, settlement, confirmations, ledger, secondNode, keccak, now } = options;
  const partition = chainPartition(chainId);
  let credited = "";

  async function credit(from: number, block: number): Promise<void> {
    const cursor = await ledger.read(partition, { type: "cursor" });
    if (cursor === null) return;
    const end = await readBlock(client, block);
    if (end === null) throw new ChainUnavailable(`the node does not know block ${block}`);
    const query = { settlement, from, end, keccak };
    const range = await inPlace(client, end, readRange(client, query));
    const contradiction =
      contradictionOf(cursor, range) ??
      (secondNode && (await disagreementOf(secondNode, { ...query, confirmations }, range)));
    if (contradiction !== undefined) throw new ChainContradiction(contradiction);
    const { activations } = range;
    await ledger.run(() => send(partition, { type: "creditEarly", at: now(), activations }));
  }

  return {
    async poll({ latest, final }, seen) {
      const block = confirmations === "finalized" ? 0 : latest.number - confirmations;
      if (block <= final.number) return final.number;
      const activations = seen.filter((activation) => activation.block <= block);
      const name = activations.map(({ id, transaction }) => `${id} ${transaction}`).join();
      if (name !== credited && name !== "") await credit(final.number + 1, block);
      credited = name;
      return block;
    },
  };
}
