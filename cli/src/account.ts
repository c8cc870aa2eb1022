import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { isPrivateKey, openKeystore } from "@inference/protocol/keystore";
import type { LocalAccount } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { Context } from "./context.ts";
import { readReadyFile } from "./devnet-files.ts";
import { CommandError, UsageError } from "./errors.ts";
import type { Signer } from "./login-state.ts";

export type AccountChoice = {
  account?: string | undefined;
  keystore?: string | undefined;
  "password-file"?: string | undefined;
  "private-key"?: string | undefined;
};

/** A signing account, and the place of its key. */
export type Signing = { account: LocalAccount; signer: Signer };

/**
 * The account that the options or Foundry's variables name; undefined: none. Throws `UsageError` and
 * `CommandError`; no message has a key or a password.
 */
export async function namedAccount(context: Context, choice: AccountChoice): Promise<Signing | undefined> {
  const { environment } = context;
  const key = choice["private-key"];
  if (key !== undefined) return { account: await accountOfKey(context, key), signer: { type: "elsewhere" } };
  const named = choice.account === undefined && choice.keystore === undefined ? environment : {};
  const file = keystoreFile(context, {
    keystore: choice.keystore ?? named.ETH_KEYSTORE,
    name: choice.account ?? named.ETH_KEYSTORE_ACCOUNT,
  });
  if (file === undefined) return undefined;
  const account = await openKeystoreFile(context, file, choice["password-file"]);
  return { account, signer: { type: "keystore", file } };
}

/** Whether the options, without the environment, name an account. */
export function isAccountNamed(choice: AccountChoice): boolean {
  return [choice.account, choice.keystore, choice["private-key"]].some((text) => text !== undefined);
}

/** The login's account. Undefined: its key is elsewhere. */
export async function keptAccount(context: Context, signer: Signer): Promise<LocalAccount | undefined> {
  if (signer.type === "keystore") return openKeystoreFile(context, signer.file, undefined);
  if (signer.type === "elsewhere") return undefined;
  const { privateKey } = readReadyFile(signer.readyFile).wallets[signer.wallet] ?? {};
  if (privateKey === undefined) throw new CommandError(`${signer.readyFile} has no wallet ${signer.wallet}.`);
  return privateKeyToAccount(privateKey as `0x${string}`);
}

/** The account of a private key. `-` reads the key from stdin. */
export async function accountOfKey(context: Context, given: string): Promise<LocalAccount> {
  const key =
    given === "-"
      ? ((await context.readInput()) ?? (await context.ask("Private key: ", { hidden: true })) ?? "")
      : given;
  const trimmed = key.trim();
  if (isPrivateKey(trimmed)) return privateKeyToAccount(trimmed);
  throw new UsageError("--private-key takes 0x and 64 hexadecimal digits, or - to read them from stdin.");
}

function keystoreFile(
  { environment, workingFolder }: Context,
  { keystore, name }: { keystore: string | undefined; name: string | undefined },
): string | undefined {
  if (keystore !== undefined && keystore !== "") return resolve(workingFolder, keystore);
  if (name === undefined || name === "") return undefined;
  const folder = environment.FOUNDRY_DIR ?? join(environment.HOME ?? homedir(), ".foundry");
  return isAbsolute(name) ? name : join(folder, "keystores", name);
}

async function openKeystoreFile(
  context: Context,
  file: string,
  passwordFile: string | undefined,
): Promise<LocalAccount> {
  const { environment, workingFolder } = context;
  const text = readText(file, "The keystore");
  const from = passwordFile ?? environment.ETH_PASSWORD;
  const password =
    from === undefined || from === ""
      ? ((await context.ask(`Password of ${file}: `, { hidden: true })) ?? "")
      : readText(resolve(workingFolder, from), "The password's file").replace(/\r?\n$/, "");
  const key = await openKeystore(text, password);
  if (key !== undefined) return privateKeyToAccount(key);
  throw new CommandError(`${file} does not open with the password, or is not a keystore.`);
}

/** A file's text. Throws `CommandError`. @param what Before its name in the error. */
export function readText(file: string, what = "The file"): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new CommandError(`${what} ${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}
