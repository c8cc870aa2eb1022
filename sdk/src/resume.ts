import type { Hash } from "viem";
import { untilCredited } from "./activate.ts";
import type { Connection } from "./connection.ts";
import type { AskedTransaction } from "./progress.ts";
import { type SendOptions, type SignedTransaction, sendSigned, untilFinal } from "./send.ts";
import { followAsked } from "./wallet-transaction.ts";

/**
 * Goes on with a step from the transaction that its progress told as `signed`. It is sent again if no node has it, and
 * never a second one: nothing is paid twice. An approval alone mints nothing: call `mint` again after it.
 *
 * What was told as `asked` is looked for on the chain, until it is there or the signal is aborted: the wallet may or may
 * not have sent it, which nobody else knows. With the hash that `sent` told it is found at once.
 */
export async function resume(
  connection: Connection,
  kept: SignedTransaction | AskedTransaction,
  options: SendOptions = {},
): Promise<{ hash: Hash }> {
  const { step, chainId } = kept;
  const sent = "serialized" in kept ? sendSigned(connection, kept, options) : followAsked(connection, kept, options);
  const { hash } = await sent;
  if (step === "activate" || step === "activateFrom") await untilCredited(connection, { chainId, hash, step }, options);
  if (step === "bridge") await untilFinal(connection, { chainId, hash, step }, options);
  return { hash };
}
