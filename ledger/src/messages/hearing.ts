import type { Command, ReplyOf, Unheard } from "./commands.ts";
import { type Partition, partitionAddress } from "./partition.ts";
import { type Saga, send } from "./saga.ts";

/**
 * Sends a command to an account, which hears the chain's totals first if it has to. The reply is `unheard` if the chain
 * is not read far enough: the command had no effect, and is to be sent again later.
 *
 * @param chain The partition of the chain that credits and debits accounts.
 */
export function* sendHeard<C extends Command>(
  chain: Partition,
  account: Partition,
  command: C & { at: number },
): Saga<ReplyOf<C>> {
  const reply = yield* send(account, command);
  if (!isUnheard(reply)) return reply;
  const answer = yield* send(chain, { type: "inquire", account: partitionAddress(account) });
  if (answer.status === "not_ready") return reply;
  yield* send(account, { type: "hear", at: command.at, epoch: reply.epoch, ...answer.hearing });
  return yield* send(account, command);
}

function isUnheard(reply: object): reply is Unheard {
  return "status" in reply && reply.status === "unheard";
}
