import { keyAnswer } from "@inference/protocol/wire/answers";
import { limitKey } from "@inference/sdk";
import { command } from "../command.ts";
import { connectAsOwner } from "../connections.ts";
import { readTerms, termOptions } from "../key-terms.ts";
import { allowanceOf } from "../key-text.ts";
import { keyIdOf } from "../named-key.ts";
import { signerOptions } from "../options.ts";

const { reset, expires } = termOptions;

export const keysLimit = command({
  name: "keys limit",
  about: "sign for other terms of an API key, higher or lower",
  arguments: {
    key: { about: "its name or its id, as `infer keys list` shows them" },
    limit: { about: "in dollars, or none" },
  },
  options: { ...signerOptions, reset, expires: { ...expires, about: `${expires.about}; none takes the end away` } },
  output: keyAnswer.shape.data,
  async run(context, { arguments: { key, limit }, options }) {
    const terms = readTerms(options);
    const connection = await connectAsOwner(context, options);
    return limitKey(connection, await keyIdOf(connection, key), { ...terms, limit: limit.replace(/^\$/, "") });
  },
  text: (key) => `${key.name}, ${key.id}: ${allowanceOf(key)}`,
});
