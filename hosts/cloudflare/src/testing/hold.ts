import type { Command, OfferName, ReplyOf } from "@inference/ledger/commands";
import type { Partition } from "@inference/ledger/partition";

type Put = <C extends Command>(partition: Partition, command: C) => Promise<ReplyOf<C>>;

/** A request of a key. */
export type HoldTerms = {
  id: string;
  digest: string;
  amountNanoUsd: number;
  at?: number;
  leaseMs?: number;
  detail?: string;
  server?: OfferName;
};

/** Holds a request in its account, once its limits have allowed it. Answers what became of it. */
export async function hold(put: Put, account: Partition, { digest, ...terms }: HoldTerms): Promise<string> {
  const payer = { kind: "key", digest } as const;
  const reserve = { type: "reserve", at: Date.now(), leaseMs: 900_000, detail: "{}", ...terms, payer } as const;
  let reply = await put(account, reserve);
  while (reply.status === "asks") {
    const answers = [];
    for (const { limit, command } of reply.asks) {
      answers.push({ limit, day: command.day, ...(await put(limit, command)) });
    }
    reply = await put(account, { ...reserve, answers });
  }
  return reply.status;
}
