import type { Activation } from "@inference/ledger/commands";
import type { AccountCredit, SettledBatch } from "@inference/ledger/settled-batch";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { type BatchEntry, entriesDigest } from "@inference/protocol/batch-entries";
import type { Address } from "@inference/protocol/credential";
import { DAY_MS, utcDay } from "@inference/protocol/window";
import { type EventArgs, type EventSource, eventSource, readEvents } from "./events.ts";
import { type ChainClient, ChainContradiction } from "./rpc.ts";

/** What changed the credit of accounts in some blocks, in the order of the chain. */
export type SettlementEvents = {
  activations: Activation[];
  batches: SettledBatch[];
  /** The credit of each of their accounts, after the last event. */
  credits: AccountCredit[];
};

type Name = "Activated" | "Settled" | "Debited" | "Served";
type Abi = typeof inferenceSettlementAbi;
type Told = { [N in Name]: { name: N; args: EventArgs<Abi, N> } }[Name];

/**
 * @throws RpcError if the node refuses the range; ChainContradiction if the events of a batch do not belong together.
 */
export async function readSettlementEvents(
  client: ChainClient,
  { settlement, from, to }: { settlement: Address; from: number; to: number },
): Promise<SettlementEvents> {
  const names = ["Activated", "Settled", "Debited", "Served"] as const;
  const events = await readEvents(
    client,
    names.map((name) => named(settlement, name)),
    { from, to },
  );
  const activations: Activation[] = [];
  const batches: SettledBatch[] = [];
  const credits = new Map<string, bigint>();
  /** Of the batch whose `Settled` comes next. */
  let entries: (BatchEntry & { batch: bigint })[] = [];
  for (const { args: told, block, transaction } of events) {
    switch (told.name) {
      case "Activated": {
        const { id, account, amount, totalActivated, creditAfter } = told.args;
        credits.set(account.toLowerCase(), creditAfter);
        activations.push({
          ...{ id: Number(id), account: account.toLowerCase(), amountToken: amount.toString() },
          ...{ totalActivated: totalActivated.toString(), block, transaction },
        });
        break;
      }
      case "Debited": {
        const { batch, account, amountNanoUsd, creditAfterNanoUsd } = told.args;
        credits.set(account.toLowerCase(), creditAfterNanoUsd);
        entries.push({ batch, account, amountNanoUsd });
        break;
      }
      case "Served": {
        const { batch, account, agent, day, amountNanoUsd } = told.args;
        const entry = entries.at(-1);
        const isOfEntry = entry?.batch === batch && entry.account === account && entry.amountNanoUsd === amountNanoUsd;
        if (!isOfEntry) throw contradiction(`a serve of batch ${batch} has no debit`);
        entry.served = { agent, day: Number(day) };
        break;
      }
      case "Settled": {
        const { id, day, root, amountNanoUsd, paidAfterNanoUsd, totalDebitedNanoUsd } = told.args;
        if (entries.some(({ batch }) => batch !== id)) throw contradiction(`batch ${id} has the debits of another one`);
        batches.push({
          ...{ id: Number(id), day: utcDay(Number(day) * DAY_MS), root, block, transaction },
          ...{ amountNanoUsd: amountNanoUsd.toString(), paidAfterNanoUsd: paidAfterNanoUsd.toString() },
          totalDebitedNanoUsd: totalDebitedNanoUsd.toString(),
          debits: entries.map((entry) => ({
            account: entry.account.toLowerCase(),
            amountNanoUsd: entry.amountNanoUsd.toString(),
          })),
          entries: entriesDigest(entries),
        });
        entries = [];
      }
    }
  }
  if (entries.length > 0) throw contradiction(`the debits of batch ${entries[0]?.batch} have no batch`);
  const last = [...credits].map(([account, credit]) => ({ account, creditNanoUsd: credit.toString() }));
  return { activations, batches, credits: last };
}

/** A source whose events tell which they are. */
function named<N extends Name>(settlement: Address, name: N): EventSource<Told> {
  const source = eventSource(settlement, inferenceSettlementAbi, name);
  return { ...source, decode: (log) => ({ name, args: source.decode(log) }) as unknown as Told };
}

function contradiction(what: string): ChainContradiction {
  return new ChainContradiction(`the node's events do not belong together: ${what}`);
}
