import type { Hash } from "viem";
import { untilCredited } from "./activate.ts";
import type { Connection } from "./connection.ts";
import type { AskedTransaction } from "./progress.ts";
import { type SendOptions, type SignedTransaction, sendSigned, untilFinal } from "./send.ts";
import { followAsked } from "./wallet-transaction.ts";

/**
 * Continues a step from its transaction, as progress `signed` or `asked` told it. A signed transaction is sent again if
 * no node has it, and no second one is made: nothing is paid twice. After an approval, call `mint` again.
 *
 * A transaction that a wallet was asked to send is found by its hash, or by its effect on the chain. The search ends
 * when the signal is aborted: a wallet does not tell whether it sent the transaction.
 */
export async function resume(
  connection: Connection,
  begun: SignedTransaction | AskedTransaction,
  options: SendOptions = {},
): Promise<{ hash: Hash }> {
  const { step, chainId } = begun;
  const sent = "serialized" in begun ? sendSigned(connection, begun, options) : followAsked(connection, begun, options);
  const { hash } = await sent;
  if (step === "activate" || step === "activateFrom") await untilCredited(connection, { chainId, hash, step }, options);
  if (step === "bridge") await untilFinal(connection, { chainId, hash, step }, options);
  return { hash };
}
