import * as z from "zod";
import { command } from "../command.ts";
import { connectWithKey } from "../connections.ts";
import { gatewayOptions } from "../options.ts";

export const keysShow = command({
  name: "keys show",
  about: "print the API key of the login",
  more: "For other programs: export INFERENCE_API_KEY=$(infer keys show)",
  arguments: {},
  options: gatewayOptions,
  output: z.strictObject({ gateway: z.string(), key: z.string() }),
  async run(context, { options }) {
    const { gateway, apiKey } = connectWithKey(context, options);
    return { gateway, key: apiKey };
  },
  text: ({ key }) => key,
});
