import { revokeKey } from "@inference/sdk";
import * as z from "zod";
import { command } from "../command.ts";
import { connectAsOwner } from "../connections.ts";
import { keyIdOf } from "../named-key.ts";
import { signerOptions } from "../options.ts";

export const keysRevoke = command({
  name: "keys revoke",
  about: "end an API key, at once and for good",
  arguments: { key: { about: "its name or its id, as `infer keys list` shows them" } },
  options: signerOptions,
  output: z.strictObject({ key_id: z.string(), revoked: z.literal(true) }),
  async run(context, { arguments: { key }, options }) {
    const connection = await connectAsOwner(context, options);
    const id = await keyIdOf(connection, key);
    await revokeKey(connection, id);
    return { key_id: id, revoked: true as const };
  },
  text: ({ key_id: key }) => `${key} is revoked.`,
});
