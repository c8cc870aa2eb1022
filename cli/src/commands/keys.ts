import { keyAnswer, newKeyAnswer } from "@inference/protocol/wire/key-answers";
import {
  type ApiKey,
  type Connection,
  changedTerms,
  createKey,
  dollarLimits,
  limitKey,
  listKeys,
  revokeKey,
  rollKey,
} from "@inference/sdk";
import * as z from "zod";
import { command } from "../command.ts";
import { connectAsOwner, connectWithKey } from "../connections.ts";
import { CommandError, UsageError } from "../errors.ts";
import { rememberKeys } from "../key-names.ts";
import { ownName, readTerms, termOptions } from "../key-terms.ts";
import { keepLogin, readLogin } from "../login-state.ts";
import { usd } from "../money.ts";
import { gatewayOptions, signerOptions } from "../options.ts";
import { table } from "../table.ts";

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
    const made = await createKey(connection, terms);
    rememberKeys(context, [made.data]);
    return made;
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
    const keys = await listKeys(await connectAsOwner(context, options));
    rememberKeys(context, keys);
    return { keys };
  },
  text: ({ keys }, columns) =>
    table(
      ["id", "name", "key", " spent", "may spend", "until"],
      keys.map((key) => [
        ...[key.id, key.name, key.label, usd(key.usage_nano_usd)],
        ...[key.disabled ? "nothing: disabled" : allowanceOf(key), key.expires_at ?? ""],
      ]),
      { columns, empty: "There are none. `infer keys create` makes one." },
    ),
});

const { limit: _limit, expires, ...changeable } = termOptions;

export const keysLimit = command({
  name: "keys limit",
  about: "sign for other terms of an API key, higher or lower",
  more:
    "Terms that are not named stay. `none` lifts --requests, --tokens, --models and --expires, and --no-private lifts " +
    "--private.",
  arguments: { key: keyArgument, limit: { about: "in dollars, or none for no limit in dollars" } },
  options: {
    ...signerOptions,
    ...changeable,
    "no-private": { type: "boolean", about: "any model, private or not" },
    expires: { ...expires, about: `${expires.about}; none takes the end away` },
  },
  output: keyAnswer.shape.data,
  async run(context, { arguments: { key, limit }, options }) {
    const { "no-private": isPublic = false } = options;
    if (isPublic && options.private === true) throw new UsageError("Give one of --private and --no-private.");
    const terms = { ...readTerms(options), ...(isPublic ? { private: "false" } : {}) };
    const connection = await connectAsOwner(context, options);
    const found = await findKey(connection, key);
    const all = limit === "none" ? [] : dollarLimits(found);
    const dollars = changedTerms(all, all[0], terms.limit_reset ?? "lifetime", limit.replace(/^\$/, ""));
    const named = Object.fromEntries(Object.entries(terms).filter(([, text]) => text !== undefined));
    return limitKey(connection, found.id, { ...dollars, ...named });
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
    const rolled = await rollKey(connection, id);
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
  isVerbatim: true,
  text: ({ key }) => key,
});

function allowanceOf({ limits, models, private: isPrivate }: ApiKey): string {
  const shown = limits.map(({ name, unit, limit, remaining }) => {
    if (unit !== "nano_usd") return `${limit} ${unit} a minute`;
    const window = name.replace(/^limit_/, "").replace("lifetime", "in total");
    return `${usd(remaining)} of ${usd(limit)} ${window}`;
  });
  if (models !== null) shown.push(`on ${models.join(", ")}`);
  if (isPrivate) shown.push("on private models");
  return shown.length === 0 ? "no limit" : shown.join("; ");
}

async function keyIdOf(connection: Connection, text: string): Promise<string> {
  return (await findKey(connection, text)).id;
}

/** The key with this id, or with this name if no other key has it. Throws `CommandError`. */
async function findKey(connection: Connection, text: string): Promise<ApiKey> {
  const keys = await listKeys(connection);
  const byId = keys.find(({ id }) => id === text);
  if (byId !== undefined) return byId;
  const named = keys.filter(({ name }) => name === text);
  const [found, ...others] = named;
  if (found === undefined) {
    throw new CommandError(`This account has no key \`${text}\`. \`infer keys list\` shows its keys.`);
  }
  if (others.length === 0) return found;
  const ids = named.map(({ id, label }) => `${id} (${label})`).join(", ");
  throw new CommandError(`${named.length} keys are called \`${text}\`. Name one by its id: ${ids}.`);
}
