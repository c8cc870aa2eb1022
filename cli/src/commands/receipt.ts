import { generationAnswer } from "@inference/protocol/wire/answers";
import { readReceipt, receipts } from "@inference/sdk";
import { command } from "../command.ts";
import { connectWithKey } from "../connections.ts";
import { CommandError } from "../errors.ts";
import { usd } from "../money.ts";
import { gatewayOptions, keyOptions } from "../options.ts";
import { fields } from "../table.ts";

export const receipt = command({
  name: "receipt",
  about: "what a request cost, and where it is settled",
  arguments: { id: { about: "of the answer, or of its `x-request-id`; the last request without it", optional: true } },
  options: { ...gatewayOptions, ...keyOptions },
  output: generationAnswer.shape.data,
  async run(context, { arguments: { id }, options }) {
    const connection = connectWithKey(context, options);
    if (id !== undefined) return readReceipt(connection, id);
    const { value: last } = await receipts(connection).next();
    if (last === undefined) throw new CommandError("There was no request in the last 30 days.");
    return readReceipt(connection, last.id);
  },
  text: (receipt) =>
    fields([
      ["receipt", receipt.id],
      ["at", receipt.created_at],
      ["model", receipt.model ?? "-"],
      ["tokens", `${receipt.tokens_prompt ?? "?"} input, ${receipt.tokens_completion ?? "?"} output`],
      ["cost", `${usd(receipt.charge_nano_usd)} of ${usd(receipt.held_nano_usd)} held (${receipt.basis})`],
      ["served by", receipt.served_by ?? "own capacity"],
      receipt.rebate_nano_usd > 0 ? ["rebate", usd(receipt.rebate_nano_usd)] : undefined,
      receipt.settlement === null ? undefined : ["settlement", settlementOf(receipt.settlement)],
    ]),
});

type Settlement = NonNullable<(typeof generationAnswer.shape.data)["_output"]["settlement"]>;

function settlementOf({ status, statement, record }: Settlement): string {
  if (record !== null) return `${status}, from ${usd(record.before_nano_usd)} on, ${record.chunk.transaction}`;
  return statement === null
    ? `${status}, in no statement yet`
    : `${status}, in the statement from ${usd(statement.before_nano_usd)} on`;
}
