import { keyAnswer } from "@inference/protocol/wire/answers";
import { listKeys } from "@inference/sdk";
import * as z from "zod";
import { command } from "../command.ts";
import { connectAsOwner } from "../connections.ts";
import { allowanceOf } from "../key-text.ts";
import { usd } from "../money.ts";
import { signerOptions } from "../options.ts";
import { table } from "../table.ts";
import { tellUnseen } from "../unseen-key.ts";

export const keysList = command({
  name: "keys list",
  about: "the account's API keys, what they spent and may spend",
  arguments: {},
  options: signerOptions,
  output: z.strictObject({ keys: z.array(keyAnswer.shape.data) }),
  async run(context, { options }) {
    tellUnseen(context);
    return { keys: await listKeys(await connectAsOwner(context, options)) };
  },
  text: ({ keys }) =>
    table(
      ["key", "name", "begins and ends with", " spent", "may spend", "until"],
      keys.map((key) => [
        ...[key.id, key.name, key.label, usd(key.usage_nano_usd)],
        ...[key.disabled ? "nothing: disabled" : allowanceOf(key), key.expires_at ?? ""],
      ]),
      "There are none. `infer keys create` makes one.",
    ),
});
