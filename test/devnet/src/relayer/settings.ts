import { readFileSync } from "node:fs";
import { refuseDevelopmentKeys } from "@inference/contracts/development-keys";
import { address, count, fields, listOf, sentencesOf, text, url } from "@inference/contracts/json-fields";
import { ownValue } from "@inference/protocol/own-value";
import { type Hex, isHex } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import * as z from "zod";

const eachVerifier = "two: one for each verifier";
const chainSettings = fields({
  eid: count,
  chainId: count,
  endpoint: address,
  sendLibrary: address,
  receiveLibrary: address,
  /** In the order of their keys. */
  verifiers: z.tuple([address, address], eachVerifier).readonly(),
  /** Blocks that must lie upon a message before it counts. */
  confirmations: count,
  /** The first block that is read: none of the endpoint's messages may lie before it. */
  startBlock: count.default(0),
  /** Each verifier reads through a node of its own: one that lies deceives one verifier, and both must agree. */
  rpcUrls: fields({ verifiers: z.tuple([url, url], eachVerifier).readonly(), executor: url }),
});

const fileSettings = fields({
  /** SQLite; what is done and what is not. */
  databaseFile: text,
  /** How often each chain is read, and the first pause before a message is tried again. */
  pollMs: count.default(1_000),
  /** The longest pause before a message is tried again. */
  maxPauseMs: count.default(60_000),
  /** A message that is this old and not through is told to the operator. */
  overdueMs: count.default(600_000),
  chains: listOf(chainSettings),
});

/** What the relayer is told: a JSON file named by RELAYER_FILE, and its keys in the environment. */
export type RelayerSettings = z.output<typeof fileSettings> & {
  keys: { verifiers: readonly [Hex, Hex]; executor: Hex };
};
export type ChainSettings = z.output<typeof chainSettings>;

type Variables = Readonly<Record<string, string | undefined>>;

/** Throws {@link SettingsError} naming all that is wrong, `DevelopmentKeyError` for a public key on a real chain. */
export function readSettings(variables: Variables): RelayerSettings {
  const wrong: string[] = [];
  const key = (name: string): Hex => {
    const text = ownValue(variables, name) ?? "";
    if (isHex(text) && text.length === 66) return text;
    wrong.push(`${name} must be a private key: 0x and 64 hexadecimal digits.`);
    return "0x";
  };
  const keys = { verifiers: [key("VERIFIER_KEY_1"), key("VERIFIER_KEY_2")] as const, executor: key("EXECUTOR_KEY") };
  if (keys.verifiers[0] !== "0x" && keys.verifiers[0] === keys.verifiers[1]) {
    wrong.push("VERIFIER_KEY_1 and VERIFIER_KEY_2 are the same: two verifiers with one key are one.");
  }
  const read = fileSettings.safeParse(readFile(variables.RELAYER_FILE, wrong));
  if (!read.success) wrong.push(...sentencesOf(read.error));
  else if (wrong.length === 0 && read.data.chains.length < 2) wrong.push("chains must name at least two chains.");
  if (!read.success || wrong.length > 0) throw new SettingsError(wrong.join(" "));
  const workers = {
    "verifier 1": privateKeyToAddress(keys.verifiers[0]),
    "verifier 2": privateKeyToAddress(keys.verifiers[1]),
    executor: privateKeyToAddress(keys.executor),
  };
  for (const { chainId } of read.data.chains) refuseDevelopmentKeys(chainId, workers);
  return { ...read.data, keys };
}

function readFile(name: string | undefined, wrong: string[]): unknown {
  if (name === undefined || name === "") {
    wrong.push("RELAYER_FILE must name the relayer's JSON file.");
    return { databaseFile: "unknown", chains: [] };
  }
  try {
    return JSON.parse(readFileSync(name, "utf8"));
  } catch (error) {
    throw new SettingsError(`RELAYER_FILE: ${name} cannot be read: ${String(error)}`);
  }
}

export class SettingsError extends Error {
  override readonly name = "SettingsError";
}
