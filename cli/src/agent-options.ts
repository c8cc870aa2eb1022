import { existsSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseDecimal } from "@inference/protocol/money";
import { DAY_MS, utcDay } from "@inference/protocol/window";
import { agentsOf, type Connection, readAgentName, readStatus } from "@inference/sdk";
import { type Address, isAddress, type LocalAccount } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { accountOfKey, namedAccount, readText } from "./account.ts";
import type { OptionSpecs } from "./command.ts";
import type { Context } from "./context.ts";
import { CommandError, UsageError } from "./errors.ts";
import { readLogin } from "./login-state.ts";

/** Options that name an agent's computer, the key that signs its offers. */
export const computerOptions = {
  "computer-key-file": { type: "string", value: "file", about: "a file with the computer's private key" },
  "computer-account": { type: "string", value: "name", about: "the computer's keystore of Foundry's" },
  "computer-password-file": { type: "string", value: "file", about: "its password; else it is asked for" },
} as const satisfies OptionSpecs;

type Choice = { [K in keyof typeof computerOptions]: string | undefined };

/** Throws `UsageError` and `CommandError`. */
export async function namedComputer(context: Context, choice: Choice): Promise<LocalAccount> {
  const file = choice["computer-key-file"];
  if (file !== undefined) {
    return accountOfKey(context, readText(resolve(context.workingFolder, file), "The computer's key"));
  }
  // The account and the password in the environment are the owner's.
  const owners = { ETH_KEYSTORE: undefined, ETH_KEYSTORE_ACCOUNT: undefined, ETH_PASSWORD: undefined };
  const opened = await namedAccount(
    { ...context, environment: { ...context.environment, ...owners } },
    { account: choice["computer-account"], "password-file": choice["computer-password-file"] },
  );
  if (opened !== undefined) return opened.account;
  throw new UsageError("Name the computer: --computer-key-file FILE, or --computer-account NAME.");
}

/** Creates the file with a new key, readable by its owner only, unless it exists. */
export function makeKeyFile({ workingFolder, say }: Context, file: string): void {
  const path = resolve(workingFolder, file);
  if (existsSync(path)) return;
  writeFileSync(path, `${generatePrivateKey()}\n`, { mode: 0o600, flag: "wx" });
  say(`A new key for the computer is in ${path}. Keep it: COMPUTER_KEY_FILE of \`npm run computer\` names it.`);
}

export const agentArgument = {
  about: "the address of the agent's token; or the name or symbol of one of yours",
} as const;

/**
 * The agent with this address, or with this name or symbol among those that the account or the login's account has made
 * or backs. Throws `CommandError` if none or several have it.
 */
export async function findAgent(context: Context, connection: Connection, text: string): Promise<Address> {
  if (isAddress(text)) return text;
  const owner = connection.account?.address ?? (readLogin(context)?.address as Address | undefined);
  if (owner === undefined) throw new UsageError(`Without a login an agent is named by its address, not \`${text}\`.`);
  const agents = await agentsOf(connection, owner);
  const named = await Promise.all(
    agents.map(async (token) => ({ token, ...(await readAgentName(connection, token)) })),
  );
  const found = named.filter(({ name, symbol }) =>
    [name, symbol].some((each) => each.toLowerCase() === text.toLowerCase()),
  );
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return only.token;
  const shown = (list: typeof named): string => list.map(({ token, symbol }) => `${symbol} (${token})`).join(", ");
  if (only !== undefined) throw new CommandError(`${found.length} agents are called \`${text}\`: ${shown(found)}.`);
  const yours = named.length === 0 ? "You have made and back none." : `Yours are ${shown(named)}.`;
  throw new CommandError(`No agent of yours is called \`${text}\`. ${yours}`);
}

/** The beginning of the gateway's next UTC day, when stake and caps of today begin to count. */
export async function nextDay(connection: Connection): Promise<string> {
  const { time } = await readStatus(connection);
  return utcDay(Date.parse(time) + DAY_MS);
}

/** Units of a token with 18 decimals. */
export function readUnits(text: string, what: string): bigint {
  const units = parseDecimal(text, 18);
  if (units !== undefined && units > 0n) return units;
  throw new UsageError(`${what} is a number above 0, like 100 or 0.5. It is not \`${text}\`.`);
}
