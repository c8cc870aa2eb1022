import {
  type ActivateOptions,
  activate,
  activateFrom,
  type BridgeOptions,
  bridge,
  readActivations,
  readStatus,
} from "./activate.ts";
import { type ConnectionOptions, connect } from "./connection.ts";
import { readDirectory } from "./directory.ts";
import { changeKey, createKey, type KeyTerms, limitKey, listKeys, revokeKey, rollKey } from "./keys.ts";
import { type BuyOptions, buy, quoteMarket } from "./market.ts";
import { type MintOptions, mint } from "./mint.ts";
import { type BegunTransaction, giveUp, type Payment, type PaymentOptions, runPayment } from "./payment.ts";
import { resume } from "./resume.ts";
import type { SendOptions } from "./send.ts";
import {
  type ActivityOptions,
  readActivity,
  readCredits,
  readReceipt,
  readStatements,
  receipts,
  statementUses,
} from "./spending.ts";
import {
  type SignedTopUp,
  sendTopUp,
  signTopUp,
  type TopUpOptions,
  type TopUpWaiting,
  topUpWithKey,
} from "./top-up.ts";
import { type VerifyOptions, verify } from "./verify/verify.ts";
import { addWebhook, listDeliveries, listWebhooks, removeWebhook, testWebhook, type WebhookTerms } from "./webhooks.ts";

export type Client = ReturnType<typeof createClient>;

/** All functions of this library with one connection. Import single functions and `connect` to bundle less. */
export function createClient(options: ConnectionOptions) {
  const connection = connect(options);
  return {
    connection,
    mint: (options: MintOptions) => mint(connection, options),
    quoteMarket: (options: { amountToken: bigint }) => quoteMarket(connection, options),
    buy: (options: BuyOptions) => buy(connection, options),
    activate: (options: ActivateOptions) => activate(connection, options),
    activateFrom: (options: ActivateOptions & { chainId: number }) => activateFrom(connection, options),
    bridge: (options: BridgeOptions) => bridge(connection, options),
    resume: (kept: BegunTransaction, options?: SendOptions) => resume(connection, kept, options),
    runPayment: (payment: Payment, options: PaymentOptions) => runPayment(connection, payment, options),
    giveUp: (payment: Payment) => giveUp(connection, payment),
    signTopUp: (options: TopUpOptions) => signTopUp(connection, options),
    sendTopUp: (signed: SignedTopUp, options?: TopUpWaiting) => sendTopUp(connection, signed, options),
    topUpWithKey: (options: Parameters<typeof topUpWithKey>[1]) => topUpWithKey(connection, options),
    createKey: (terms?: KeyTerms) => createKey(connection, terms),
    keys: {
      list: () => listKeys(connection),
      limit: (keyId: string, terms: Omit<KeyTerms, "name"> & { limit: string }) => limitKey(connection, keyId, terms),
      change: (keyId: string, change: Parameters<typeof changeKey>[2]) => changeKey(connection, keyId, change),
      roll: (keyId: string) => rollKey(connection, keyId),
      revoke: (keyId: string) => revokeKey(connection, keyId),
    },
    webhooks: {
      list: () => listWebhooks(connection),
      add: (terms: WebhookTerms) => addWebhook(connection, terms),
      remove: (id: string) => removeWebhook(connection, id),
      test: (id: string) => testWebhook(connection, id),
      deliveries: () => listDeliveries(connection),
    },
    credits: () => readCredits(connection),
    activations: (address: `0x${string}`) => readActivations(connection, address),
    activity: (options: Parameters<typeof readActivity>[1]) => readActivity(connection, options),
    receipts: (options?: ActivityOptions) => receipts(connection, options),
    receipt: (id: string) => readReceipt(connection, id),
    statements: () => readStatements(connection),
    statementUses: (after?: number) => statementUses(connection, after),
    contracts: () => readDirectory(connection),
    status: () => readStatus(connection),
    verify: (options?: VerifyOptions) => verify(connection, options),
  };
}
