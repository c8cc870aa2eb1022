import type { Hash } from "viem";
import { untilCredited } from "./activate.ts";
import type { Connection } from "./connection.ts";
import { type SendOptions, type SignedTransaction, sendSigned, untilFinal } from "./send.ts";

/**
 * Goes on with a step from the transaction that its progress told as `signed`. It is sent again if no node has it, and
 * never a second one: nothing is paid twice. An approval alone mints nothing: call `mint` again after it.
 */
export async function resume(
  connection: Connection,
  signed: SignedTransaction,
  options: SendOptions = {},
): Promise<{ hash: Hash }> {
  const { step, chainId } = signed;
  const { hash } = await sendSigned(connection, signed, options);
  if (step === "activate" || step === "activateFrom") await untilCredited(connection, { chainId, hash, step }, options);
  if (step === "bridge") await untilFinal(connection, { chainId, hash, step }, options);
  return { hash };
}
