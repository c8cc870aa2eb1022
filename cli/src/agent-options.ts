import { existsSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseDecimal } from "@inference/protocol/money";
import { type Address, isAddress, type LocalAccount } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { accountOfKey, namedAccount, readSecret } from "./account.ts";
import type { OptionSpecs } from "./command.ts";
import type { Context } from "./context.ts";
import { UsageError } from "./errors.ts";

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
    return accountOfKey(context, readSecret(resolve(context.workingFolder, file), "The computer's key"));
  }
  const account = choice["computer-account"];
  const passwordFile = choice["computer-password-file"];
  const named = account === undefined ? undefined : { account, "password-file": passwordFile };
  const opened =
    named === undefined ? undefined : await namedAccount({ ...context, environment: withoutEth(context) }, named);
  if (opened !== undefined) return opened.account;
  throw new UsageError("Name the computer: --computer-key-file FILE, or --computer-account NAME.");
}

/** Without the password in the environment, which is the owner's. */
function withoutEth({ environment }: Context): Context["environment"] {
  return { ...environment, ETH_PASSWORD: undefined };
}

/** Creates the file with a new key, readable by its owner only, unless it exists. */
export function makeKeyFile({ workingFolder, say }: Context, file: string): void {
  const path = resolve(workingFolder, file);
  if (existsSync(path)) return;
  writeFileSync(path, `${generatePrivateKey()}\n`, { mode: 0o600, flag: "wx" });
  say(`A new key for the computer is in ${join(path)}. Keep it: \`npm run computer\` needs it too.`);
}

export const agentArgument = { about: "the address of the agent's token" } as const;

export function readAgentToken(text: string): Address {
  if (isAddress(text)) return text;
  throw new UsageError(`An agent is named by the address of its token, not \`${text}\`.`);
}

/** Units of a token with 18 decimals. */
export function readUnits(text: string, what: string): bigint {
  const units = parseDecimal(text, 18);
  if (units !== undefined && units > 0n) return units;
  throw new UsageError(`${what} is a number above 0, like 100 or 0.5. It is not \`${text}\`.`);
}
