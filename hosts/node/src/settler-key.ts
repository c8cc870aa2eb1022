import { readFileSync } from "node:fs";
import { SettingsError } from "@inference/gateway/settings";
import { openKeystore } from "@inference/protocol/keystore";
import type { NodeSettings } from "./settings.ts";

/**
 * The settings with the settler's key from its keystore as SETTLER_PRIVATE_KEY, if they name one.
 *
 * @throws {@link SettingsError} that names files and settings, and no secret.
 */
export async function withSettlerKey(settings: NodeSettings): Promise<NodeSettings> {
  const { SETTLER_KEYSTORE: file, SETTLER_KEYSTORE_PASSWORD: given } = settings;
  const passwordFile = settings.SETTLER_KEYSTORE_PASSWORD_FILE;
  const isOne = (given === undefined) !== (passwordFile === undefined);
  if (file === undefined) {
    if (given === undefined && passwordFile === undefined) return settings;
    return refuse("SETTLER_KEYSTORE: is missing. There is a password for it: set both, or neither");
  }
  if (settings.SETTLER_PRIVATE_KEY !== undefined) {
    return refuse("SETTLER_KEYSTORE: SETTLER_PRIVATE_KEY is set too. Set one of the two");
  }
  if (!isOne) {
    return refuse("SETTLER_KEYSTORE: set SETTLER_KEYSTORE_PASSWORD_FILE or SETTLER_KEYSTORE_PASSWORD, one of the two");
  }
  const password =
    passwordFile === undefined ? given : read("SETTLER_KEYSTORE_PASSWORD_FILE", passwordFile).replace(/\r?\n$/, "");
  const key = await openKeystore(read("SETTLER_KEYSTORE", file), password ?? "");
  if (key === undefined) {
    return refuse(`SETTLER_KEYSTORE: ${file} does not open with the password, or is not a keystore`);
  }
  return { ...settings, SETTLER_PRIVATE_KEY: key };
}

function read(setting: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    return refuse(`${setting}: ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

function refuse(problem: string): never {
  throw new SettingsError(`The gateway cannot start. Invalid settings:\n  ${problem}`);
}
