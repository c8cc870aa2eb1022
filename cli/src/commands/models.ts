import { modelAnswer } from "@inference/protocol/wire/answers";
import { listModels } from "@inference/sdk";
import * as z from "zod";
import { command } from "../command.ts";
import { connectAsAnyone } from "../connections.ts";
import { gatewayOptions } from "../options.ts";
import { otherPrices, perMillion } from "../price-words.ts";
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
  text: ({ models }, columns) =>
    table(
      ["model", "type", " context", " input $/M", " output $/M", "other prices, $"],
      models.map(({ id, type, context_length: context, pricing }) => {
        const { prompt, completion } = pricing as Record<string, unknown>;
        const prices = [perMillion(prompt), perMillion(completion), otherPrices(pricing)];
        return [id, type, context === null ? "" : String(context), ...prices];
      }),
      { columns, empty: "There are none." },
    ),
});
