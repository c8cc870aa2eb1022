import { newKeyAnswer } from "@inference/protocol/wire/answers";
import { rollKey } from "@inference/sdk";
import { command } from "../command.ts";
import { connectAsOwner } from "../connections.ts";
import { UsageError } from "../errors.ts";
import { keepLogin, readLogin } from "../login-state.ts";
import { keyIdOf } from "../named-key.ts";
import { signerOptions } from "../options.ts";
import { askForSecret } from "../unseen-key.ts";

export const keysRoll = command({
  name: "keys roll",
  about: "sign for another secret of an API key; the old one is void at once",
  more: "The key is printed this once. If it is that of the login, the login has the new one.",
  arguments: { key: { about: "its name or its id; that of the login without it", optional: true } },
  options: signerOptions,
  output: newKeyAnswer,
  async run(context, { arguments: { key }, options }) {
    const login = readLogin(context);
    const named = key ?? login?.keyId;
    if (named === undefined) throw new UsageError("Name the key: `infer keys list` shows them.");
    const connection = await connectAsOwner(context, options);
    const id = key === undefined ? named : await keyIdOf(connection, key);
    const rolled = await askForSecret(context, `keys roll ${id}`, () => rollKey(connection, id));
    if (login?.keyId === id) keepLogin(context, { ...login, apiKey: rolled.key, keyId: rolled.data.id });
    return rolled;
  },
  text: ({ key, data }) => `${key}\n${data.name}, ${data.id}`,
});
