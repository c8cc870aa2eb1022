import { revokeKey } from "@inference/sdk";
import * as z from "zod";
import { command } from "../command.ts";
import { connectAsOwner } from "../connections.ts";
import { signerOptions } from "../options.ts";

export const keysRevoke = command({
  name: "keys revoke",
  about: "end an API key, at once and for good",
  arguments: { key: { about: "its id, as `infer keys list` has it" } },
  options: signerOptions,
  output: z.strictObject({ key_id: z.string(), revoked: z.literal(true) }),
  async run(context, { arguments: { key }, options }) {
    await revokeKey(await connectAsOwner(context, options), key);
    return { key_id: key, revoked: true as const };
  },
  text: ({ key_id: key }) => `${key} is revoked.`,
});
