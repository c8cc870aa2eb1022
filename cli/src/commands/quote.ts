import { quoteTokens, readModel } from "@inference/sdk";
import * as z from "zod";
import { command } from "../command.ts";
import { connectAsAnyone } from "../connections.ts";
import { CommandError, UsageError } from "../errors.ts";
import { usd } from "../money.ts";
import { gatewayOptions } from "../options.ts";
import { otherPrices } from "../price-words.ts";

export const quote = command({
  name: "quote",
  about: "what a number of tokens costs at most",
  more: "A request holds more while it runs: the bound of its prompt, and all that the model may write.",
  arguments: { model: { about: "as `infer models` lists it" } },
  options: {
    ...gatewayOptions,
    input: { type: "string", value: "tokens", about: "tokens of the prompt; 1000 without it" },
    output: { type: "string", value: "tokens", about: "tokens of the answer; 1000 without it" },
  },
  output: z.strictObject({
    model: z.string(),
    input_tokens: z.int(),
    output_tokens: z.int(),
    cost_nano_usd: z.int().describe("At most, at the prices of now."),
  }),
  async run(context, { arguments: { model }, options }) {
    const [input, output] = [tokens(options.input, "input"), tokens(options.output, "output")];
    const { pricing } = await readModel(connectAsAnyone(context, options), model);
    const cost = quoteTokens({ prompt: input, completion: output }, pricing);
    if (cost === undefined) {
      throw new CommandError(`${model} is not priced by tokens: its price is ${otherPrices(pricing)}, in dollars.`);
    }
    return { model, input_tokens: input, output_tokens: output, cost_nano_usd: cost };
  },
  text: ({ input_tokens: input, output_tokens: output, cost_nano_usd: cost }) =>
    `${input} input and ${output} output tokens cost at most ${usd(cost)}.`,
});

function tokens(text = "1000", name: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`--${name} takes a number of tokens, not \`${text}\`.`);
}
