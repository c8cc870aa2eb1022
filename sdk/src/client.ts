import { activate, activateFrom, bridge, readActivations, readStatus } from "./activate.ts";
import { type Connection, type ConnectionOptions, connect } from "./connection.ts";
import { readDirectory } from "./directory.ts";
import { changeKey, createKey, limitKey, listKeys, revokeKey, rollKey } from "./keys.ts";
import { buy, quoteMarket } from "./market.ts";
import { mint } from "./mint.ts";
import { giveUp, runPayment } from "./payment.ts";
import { resume } from "./resume.ts";
import { readActivity, readCredits, readReceipt, readStatements, receipts, statementUses } from "./spending.ts";
import { sendTopUp, signTopUp, topUpWithKey } from "./top-up.ts";
import { verify } from "./verify/verify.ts";
import { addWebhook, listDeliveries, listWebhooks, removeWebhook, testWebhook } from "./webhooks.ts";

export type Client = ReturnType<typeof createClient>;

/** All functions of this library with one connection. Import single functions and `connect` to bundle less. */
export function createClient(options: ConnectionOptions) {
  const connection = connect(options);
  return {
    connection,
    ...bound(connection, {
      ...{ mint, quoteMarket, buy, activate, activateFrom, bridge, resume, runPayment, giveUp },
      ...{ signTopUp, sendTopUp, topUpWithKey, createKey, receipts, statementUses, verify },
      ...{ credits: readCredits, activations: readActivations, activity: readActivity, receipt: readReceipt },
      ...{ statements: readStatements, contracts: readDirectory, status: readStatus },
    }),
    keys: bound(connection, {
      ...{ list: listKeys, limit: limitKey, change: changeKey, roll: rollKey, revoke: revokeKey },
    }),
    webhooks: bound(connection, {
      ...{ list: listWebhooks, add: addWebhook, remove: removeWebhook, test: testWebhook, deliveries: listDeliveries },
    }),
  };
}

type Functions = Readonly<Record<string, (connection: Connection, ...rest: never[]) => unknown>>;
type Bound<F extends Functions> = {
  [K in keyof F]: F[K] extends (connection: Connection, ...rest: infer R) => infer A ? (...rest: R) => A : never;
};

/** The functions without their first parameter, the connection. */
function bound<F extends Functions>(connection: Connection, functions: F): Bound<F> {
  const entries = Object.entries(functions).map(([name, run]) => [name, run.bind(null, connection)]);
  return Object.fromEntries(entries) as Bound<F>;
}
