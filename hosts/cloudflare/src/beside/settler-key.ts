import { WorkerEntrypoint } from "cloudflare:workers";
import type { Address } from "@inference/protocol/credential";
import { guardedAccount } from "@inference/settler/guarded-account";
import type { SettlerTransaction } from "@inference/settler/settlement-contract";
import type { Hex } from "viem";

type Bindings = { SETTLER_PRIVATE_KEY: Hex; SETTLEMENT_ADDRESS: Address; PRIMARY_CHAIN_ID: number | string };

/** The settler's key, in a Worker without a route: the gateway's Worker reads strangers' requests and has no key. */
export default class SettlerKey extends WorkerEntrypoint<Bindings> {
  async sign(transaction: SettlerTransaction): Promise<Hex> {
    const { SETTLER_PRIVATE_KEY: key, SETTLEMENT_ADDRESS: settlement, PRIMARY_CHAIN_ID: chainId } = this.env;
    return guardedAccount(key, { settlement, chainId: Number(chainId) }).signTransaction(transaction);
  }
}
