import { newKeyAnswer } from "@inference/protocol/wire/answers";
import { createKey } from "@inference/sdk";
import { command } from "../command.ts";
import { connectAsOwner } from "../connections.ts";
import { UsageError } from "../errors.ts";
import { ownName, readTerms, termOptions } from "../key-terms.ts";
import { allowanceOf } from "../key-text.ts";
import { signerOptions } from "../options.ts";
import { askForSecret } from "../unseen-key.ts";

export const keysCreate = command({
  name: "keys create",
  about: "sign for a new API key",
  more: "The key is printed this once. It is not that of the login, which stays.",
  arguments: { name: { about: "1 to 64 characters; else this machine's", optional: true } },
  options: {
    ...signerOptions,
    ...termOptions,
    name: { type: "string", value: "name", about: "the same as the argument" },
  },
  output: newKeyAnswer,
  async run(context, { arguments: { name: argument }, options }) {
    if (argument !== undefined && options.name !== undefined) throw new UsageError("The name is given twice.");
    const terms = { name: argument ?? options.name ?? ownName(), ...readTerms(options) };
    const connection = await connectAsOwner(context, options);
    return askForSecret(context, `keys create ${JSON.stringify(terms.name)}`, () => createKey(connection, terms));
  },
  text: ({ key, data }) => `${key}\n${data.name}, ${data.id}: ${allowanceOf(data)}`,
});
