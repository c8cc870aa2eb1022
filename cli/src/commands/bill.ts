import { makeKeccak } from "@inference/protocol/keccak-wasm";
import { collectBill, judge, notProven, type Period } from "@inference/sdk";
import { endOf } from "@inference/sdk/verify/statements";
import * as z from "zod";
import { command } from "../command.ts";
import { connectAsOwner } from "../connections.ts";
import { UsageError } from "../errors.ts";
import { usd } from "../money.ts";
import { signerOptions } from "../options.ts";
import { readReceipts } from "../receipt-log.ts";
import { exitCodeOf, logOption, outputOf, sayNotProven, textOf, verdict } from "../verdict.ts";
import { saveEvidence } from "./verify.ts";

export const bill = command({
  name: "bill",
  about: "the bill of a day or a month, checked, and kept as a file",
  more:
    "A bill has the final statements with uses of these days, whole: so it may begin before them and end after them.\n" +
    "--save keeps uses, debits, proofs and prices as infer-bill-PERIOD.json. `infer verify FILE` checks it at any time,\n" +
    "without the gateway. It ends with 0 if every check passed, and with 3 if one failed or was skipped.",
  arguments: {
    period: { about: "a UTC day or month, such as 2026-11-23 or 2026-11; this month without it", optional: true },
  },
  options: { ...signerOptions, ...logOption, save: { type: "boolean", about: "keep it as a file" } },
  output: verdict.extend({ period: z.string(), uses: z.int(), charge_nano_usd: z.int(), waiting_uses: z.int() }),
  async run(context, { arguments: { period = new Date().toISOString().slice(0, 7) }, options }) {
    const days = daysOf(period);
    const connection = await connectAsOwner(context, options);
    const log = readReceipts(context, options.log);
    sayNotProven(context, notProven({ log, period: days }));
    const evidence = await collectBill(connection, days, log);
    if (options.save === true) saveEvidence(context, `infer-bill-${period}.json`, evidence);
    const { uses, records } = evidence.said;
    const paid = endOf(records.at(-1));
    const own = uses.filter(({ day_served: day }) => day >= days.from && day <= days.to);
    return {
      ...outputOf(await judge(evidence, { keccak: await makeKeccak() })),
      ...{ period, uses: own.length, charge_nano_usd: own.reduce((sum, use) => sum + use.charge_nano_usd, 0) },
      waiting_uses: own.filter(({ ends_at_nano_usd: end }) => end > paid).length,
    };
  },
  text: ({ period, uses, charge_nano_usd: charge, waiting_uses: waiting, ...found }) =>
    `${period}: ${uses} uses of ${usd(charge)}; ${waiting} of them are not final on chain yet.\n\n${textOf(found)}`,
  exitCode: exitCodeOf,
});

/** Throws {@link UsageError}. */
function daysOf(period: string): Period {
  const [, month, day] = /^(\d{4}-\d{2})(-\d{2})?$/.exec(period) ?? [];
  const from = `${month}${day ?? "-01"}`;
  const start = new Date(`${from}T00:00:00Z`);
  if (Number.isNaN(start.getTime()) || start.toISOString().slice(0, 10) !== from) {
    throw new UsageError(`A bill is of a UTC day or month, such as 2026-11-23 or 2026-11, not \`${period}\`.`);
  }
  const end = Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 0);
  return { from, to: day === undefined ? new Date(end).toISOString().slice(0, 10) : from };
}
