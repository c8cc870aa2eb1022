import { formatDecimal, parseDecimal } from "@inference/protocol/money";
import { modelAnswer } from "@inference/protocol/wire/answers";
import { listModels } from "@inference/sdk";
import * as z from "zod";
import { command } from "../command.ts";
import { connectAsAnyone } from "../connections.ts";
import { gatewayOptions } from "../options.ts";
import { table } from "../table.ts";

export const models = command({
  name: "models",
  about: "the models and their prices",
  arguments: {},
  options: { ...gatewayOptions, type: { type: "string", value: "type", about: "text, image, embedding, tts ..." } },
  output: z.strictObject({ models: z.array(modelAnswer) }),
  async run(context, { options }) {
    const all = await listModels(connectAsAnyone(context, options));
    return { models: all.filter(({ type }) => options.type === undefined || type === options.type) };
  },
  text: ({ models }) =>
    table(
      ["model", "type", " context", " $ per M input", " $ per M output", "other prices, in $"],
      models.map(({ id, type, context_length: context, pricing }) => {
        const { prompt, completion } = pricing as Record<string, unknown>;
        const other = Object.entries(pricing).filter(
          ([name, price]) =>
            typeof price === "string" && name !== "prompt" && name !== "completion" && Number(price) > 0,
        );
        const rest = other.map(([name, price]) => `${name} ${price}`).join(", ");
        return [id, type, context === null ? "" : String(context), perMillion(prompt), perMillion(completion), rest];
      }),
      "There are none.",
    ),
});

function perMillion(price: unknown): string {
  const atto = typeof price === "string" ? parseDecimal(price, 18) : undefined;
  return atto === undefined || atto === 0n ? "" : formatDecimal(atto * 1_000_000n, 18);
}
