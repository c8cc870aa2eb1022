import { keyAnswer, newKeyAnswer } from "@inference/protocol/wire/answers";
import { type ApiKey, type Connection, createKey, limitKey, listKeys, revokeKey, rollKey } from "@inference/sdk";
import * as z from "zod";
import { command } from "../command.ts";
import { connectAsOwner, connectWithKey } from "../connections.ts";
import { CommandError, UsageError } from "../errors.ts";
import { ownName, readTerms, termOptions } from "../key-terms.ts";
import { keepLogin, readLogin } from "../login-state.ts";
import { usd } from "../money.ts";
import { gatewayOptions, signerOptions } from "../options.ts";
import { table } from "../table.ts";
import { askForSecret, tellUnseen } from "../unseen-key.ts";

const keyArgument = { about: "its name or its id, as `infer keys list` shows them" } as const;

export const keysCreate = command({
  name: "keys create",
  about: "sign for a new API key",
  more: "The key is printed once. The login keeps its own key.",
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

const { reset, expires } = termOptions;

export const keysLimit = command({
  name: "keys limit",
  about: "sign for other terms of an API key, higher or lower",
  arguments: { key: keyArgument, limit: { about: "in dollars, or none" } },
  options: { ...signerOptions, reset, expires: { ...expires, about: `${expires.about}; none takes the end away` } },
  output: keyAnswer.shape.data,
  async run(context, { arguments: { key, limit }, options }) {
    const terms = readTerms(options);
    const connection = await connectAsOwner(context, options);
    return limitKey(connection, await keyIdOf(connection, key), { ...terms, limit: limit.replace(/^\$/, "") });
  },
  text: (key) => `${key.name}, ${key.id}: ${allowanceOf(key)}`,
});

export const keysRoll = command({
  name: "keys roll",
  about: "sign for another secret of an API key; the old one is void at once",
  more: "The key is printed once. The login keeps the new secret of its own key.",
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

export const keysRevoke = command({
  name: "keys revoke",
  about: "end an API key, at once and for good",
  arguments: { key: keyArgument },
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

function allowanceOf({ limit_nano_usd: limit, limit_remaining_nano_usd: left, ...key }: ApiKey): string {
  if (limit === null || left === null) return "no limit";
  const window = key.limit_reset === null ? "" : ` ${key.limit_reset}`;
  return `${usd(left)} of ${usd(limit)}${window}`;
}

/** The id of the key with this id, or with this name if no other key has it. Throws `CommandError`. */
async function keyIdOf(connection: Connection, text: string): Promise<string> {
  const keys = await listKeys(connection);
  if (keys.some(({ id }) => id === text)) return text;
  const named = keys.filter(({ name }) => name === text);
  const [found, ...others] = named;
  if (found === undefined) {
    throw new CommandError(`This account has no key \`${text}\`. \`infer keys list\` shows its keys.`);
  }
  if (others.length === 0) return found.id;
  const ids = named.map(({ id, label }) => `${id} (${label})`).join(", ");
  throw new CommandError(`${named.length} keys are called \`${text}\`. Name one by its id: ${ids}.`);
}
