import type { Notice, NoticeTry, Webhook } from "@inference/ledger/commands";
import type { Partition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import type { Gateway } from "../gateway.ts";

type Sender = Pick<Gateway, "environment" | "webhooks">;

/** Accounts whose webhooks are told at once, and the most notices that one webhook gets in a row. */
const ACCOUNTS_AT_ONCE = 32;
const NOTICES_IN_A_ROW = 4;

/** Sends the notices of all accounts. */
export type Notifier = {
  /** Begins with the accounts that are due, as far as there is room. Does not wait for their receivers. */
  begin(stopped: AbortSignal): Promise<void>;
  /** Resolves once no account is under way. */
  settled(): Promise<void>;
};

/** A slow receiver keeps one place, and no account waits for another one as long as there are places. */
export function makeNotifier(gateway: Sender): Notifier {
  const { clock, ledger, log } = gateway.environment;
  const underWay = new Map<Partition, Promise<void>>();
  /** The last account of the last page: the next one goes on after it. */
  let after: Partition | null = null;

  function start(account: Partition, stopped: AbortSignal): void {
    const work = notifyAccount(gateway, account, stopped)
      .catch((error: unknown) => log("warn", "webhooks_failed", { account, error: String(error) }))
      .finally(() => underWay.delete(account));
    underWay.set(account, work);
  }

  return {
    async begin(stopped) {
      const room = ACCOUNTS_AT_ONCE - underWay.size;
      // With a full disk no try can be recorded.
      if (room === 0 || !ledger.writable) return;
      const page = await ledger.due("account", clock.now(), { after, limit: ACCOUNTS_AT_ONCE });
      const idle = page.filter((account) => !underWay.has(account)).slice(0, room);
      for (const account of stopped.aborted ? [] : idle) start(account, stopped);
      after = page.length < ACCOUNTS_AT_ONCE ? null : (idle.at(-1) ?? page.at(-1) ?? null);
    },
    async settled() {
      await Promise.all(underWay.values());
    },
  };
}

/**
 * Sends the notices of an account that are due, those of each webhook in their order up to the first failure, and
 * records the tries. Notices with fewer tries go first, so that one that its receiver refuses holds up no other. A
 * notice whose try was not recorded is sent again, with the same id. A stop ends a try, which is then not recorded.
 */
export async function notifyAccount(
  { environment, webhooks: sender }: Sender,
  account: Partition,
  stopped?: AbortSignal,
): Promise<void> {
  const { clock, ledger } = environment;
  const now = clock.now();
  const { webhooks, notices } = await ledger.read(account, { type: "webhooks" });
  const tries = await Promise.all(
    webhooks.map((webhook) => {
      const due = notices.filter((one) => one.webhook === webhook.id && one.nextAt !== null && one.nextAt <= now);
      due.sort((one, other) => one.tries - other.tries);
      return notifyWebhook(sender, account, webhook, due.slice(0, NOTICES_IN_A_ROW), stopped);
    }),
  );
  // The command also forgets notices that are over, so it is sent without tries too.
  const noted = { type: "noteTries", at: clock.now(), tries: tries.flat() } as const;
  await ledger.run(() => send(account, noted), { untilDurable: true });
}

async function notifyWebhook(
  sender: Sender["webhooks"],
  account: Partition,
  webhook: Webhook,
  due: readonly Notice[],
  stopped: AbortSignal | undefined,
): Promise<NoticeTry[]> {
  const tries: NoticeTry[] = [];
  for (const { id, at, event } of due) {
    if (stopped?.aborted) break;
    const result = await sender.send(account, webhook, { id, at, event }, stopped);
    if (stopped?.aborted && !result.isDelivered) break;
    tries.push({ id, ...result });
    if (!result.isDelivered) break;
  }
  return tries;
}
