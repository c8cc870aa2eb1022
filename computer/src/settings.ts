import { readFileSync } from "node:fs";
import { oneLine } from "@inference/keeper/log";
import { isPrivateKey, openKeystore } from "@inference/protocol/keystore";
import { parseShareBps } from "@inference/protocol/offer";
import { ownValue } from "@inference/protocol/own-value";
import { type Address, getAddress, isAddress } from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";

export type ComputerSettings = {
  gatewayUrl: string;
  agentToken: Address;
  /** The share of each day's capacity that is sold, in basis points. */
  shareBps: number;
  pollMs: number;
  account: PrivateKeyAccount;
};

type Variables = Readonly<Record<string, string | undefined>>;

const DEFAULTS = { sharePercent: "100", pollMs: 5_000 };
const LEAST_POLL_MS = 100;
const MOST_POLL_MS = 600_000;

/** Reads the settings from the environment. Throws an error with everything that is wrong. */
export async function readComputerSettings(variables: Variables): Promise<ComputerSettings> {
  const given = (name: string): string | undefined => ownValue(variables, name) || undefined;
  const wrong: string[] = [];
  const number = (name: string, fallback: number, [least, most]: readonly [number, number]): number => {
    const text = given(name) ?? String(fallback);
    const isRight = /^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most;
    if (!isRight) wrong.push(`${name} must be a whole number from ${least} to ${most}, not ${text}.`);
    return Number(text);
  };
  const gatewayUrl = given("GATEWAY_URL");
  if (gatewayUrl === undefined) wrong.push("GATEWAY_URL must name the gateway that sells, like http://127.0.0.1:8787.");
  else if (!/^https?:$/.test(URL.parse(gatewayUrl)?.protocol ?? "")) {
    wrong.push(`GATEWAY_URL must be an http(s) URL, not ${gatewayUrl}.`);
  }
  const token = given("AGENT_TOKEN") ?? "";
  if (!isAddress(token)) wrong.push("AGENT_TOKEN must be the address of the agent's token.");
  const share = given("SHARE_PERCENT") ?? DEFAULTS.sharePercent;
  const shareBps = parseShareBps(share) ?? 0;
  if (shareBps === 0) wrong.push(`SHARE_PERCENT must be a percentage from 0.01 to 100, not ${share}.`);
  const pollMs = number("POLL_MS", DEFAULTS.pollMs, [LEAST_POLL_MS, MOST_POLL_MS]);
  const account = await readAccount(given).catch((error: unknown) => void wrong.push(oneLine(error)));
  if (wrong.length > 0 || gatewayUrl === undefined || !account) throw new Error(wrong.join(" "));
  return { gatewayUrl, agentToken: getAddress(token), shareBps, pollMs, account };
}

/** The computer's key: a file of it, a Foundry keystore with its password, or the key. No message has any of them. */
async function readAccount(given: (name: string) => string | undefined): Promise<PrivateKeyAccount> {
  const [keyFile, keystore, text] = ["COMPUTER_KEY_FILE", "COMPUTER_KEYSTORE", "COMPUTER_KEY"].map(given);
  if ([keyFile, keystore, text].filter((each) => each !== undefined).length !== 1) {
    throw new Error(
      "Set COMPUTER_KEY_FILE (as `infer agent computer` makes it), COMPUTER_KEYSTORE (a Foundry keystore file) or " +
        "COMPUTER_KEY, one of the three.",
    );
  }
  const key = keyFile === undefined ? text : readText(keyFile).trim();
  if (key !== undefined) {
    if (isPrivateKey(key)) return privateKeyToAccount(key);
    const name = keyFile === undefined ? "COMPUTER_KEY" : `COMPUTER_KEY_FILE: ${keyFile}`;
    throw new Error(`${name} must be a private key: 0x and 64 hexadecimal digits.`);
  }
  const passwordFile = given("COMPUTER_PASSWORD_FILE");
  const password =
    passwordFile === undefined ? given("COMPUTER_PASSWORD") : readText(passwordFile).replace(/\r?\n$/, "");
  if (password === undefined) {
    throw new Error("COMPUTER_KEYSTORE needs COMPUTER_PASSWORD_FILE or COMPUTER_PASSWORD.");
  }
  const file = keystore ?? "";
  const secret = await openKeystore(readText(file), password);
  if (secret !== undefined) return privateKeyToAccount(secret);
  throw new Error(`COMPUTER_KEYSTORE: ${file} does not open with the password, or is not a keystore.`);
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(`${file} cannot be read: ${oneLine(error)}`);
  }
}
