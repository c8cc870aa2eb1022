import { readFileSync } from "node:fs";
import { refuseDevelopmentKeys } from "@inference/contracts/development-keys";
import { type JsonReader, readJson } from "@inference/contracts/json-reader";
import { type Address, type Hex, isHex } from "viem";
import { privateKeyToAddress } from "viem/accounts";

/** What the relayer is told: a JSON file named by RELAYER_FILE, and its keys in the environment. */
export type RelayerSettings = {
  /** SQLite; what is done and what is not. */
  databaseFile: string;
  /** How often each chain is read, and the first pause before a message is tried again. */
  pollMs: number;
  /** The longest pause before a message is tried again. */
  maxPauseMs: number;
  /** A message that is this old and not through is told to the operator. */
  overdueMs: number;
  chains: readonly ChainSettings[];
  keys: { verifiers: readonly [Hex, Hex]; executor: Hex };
};

export type ChainSettings = {
  eid: number;
  chainId: number;
  endpoint: Address;
  sendLibrary: Address;
  receiveLibrary: Address;
  /** In the order of their keys. */
  verifiers: readonly [Address, Address];
  /** Blocks that must lie upon a message before it counts. */
  confirmations: number;
  /** The first block that is read: none of the endpoint's messages may lie before it. */
  startBlock: number;
  /** Each verifier reads through a node of its own: one that lies deceives one verifier, and both must agree. */
  rpcUrls: { verifiers: readonly [string, string]; executor: string };
};

type Variables = Readonly<Record<string, string | undefined>>;

/** Throws {@link SettingsError} naming all that is wrong, `DevelopmentKeyError` for a public key on a real chain. */
export function readSettings(variables: Variables): RelayerSettings {
  const wrong: string[] = [];
  const key = (name: string): Hex => {
    const text = variables[name] ?? "";
    if (isHex(text) && text.length === 66) return text;
    wrong.push(`${name} must be a private key: 0x and 64 hexadecimal digits.`);
    return "0x";
  };
  const keys = { verifiers: [key("VERIFIER_KEY_1"), key("VERIFIER_KEY_2")] as const, executor: key("EXECUTOR_KEY") };
  if (keys.verifiers[0] !== "0x" && keys.verifiers[0] === keys.verifiers[1]) {
    wrong.push("VERIFIER_KEY_1 and VERIFIER_KEY_2 are the same: two verifiers with one key are one.");
  }
  const settings = readJson(readFile(variables.RELAYER_FILE, wrong), wrong, (at) => ({
    databaseFile: at.text("databaseFile"),
    pollMs: at.count("pollMs", 1_000),
    maxPauseMs: at.count("maxPauseMs", 60_000),
    overdueMs: at.count("overdueMs", 600_000),
    chains: at.list("chains", (chains, index) => chains.inside(index, (chain) => readChain(chain, wrong))),
    keys,
  }));
  if (wrong.length === 0 && settings.chains.length < 2) wrong.push("chains must name at least two chains.");
  if (wrong.length > 0) throw new SettingsError(wrong.join(" "));
  const workers = {
    "verifier 1": privateKeyToAddress(keys.verifiers[0]),
    "verifier 2": privateKeyToAddress(keys.verifiers[1]),
    executor: privateKeyToAddress(keys.executor),
  };
  for (const { chainId } of settings.chains) refuseDevelopmentKeys(chainId, workers);
  return settings;
}

function readChain(at: JsonReader, wrong: string[]): ChainSettings {
  return {
    eid: at.count("eid"),
    chainId: at.count("chainId"),
    endpoint: at.address("endpoint"),
    sendLibrary: at.address("sendLibrary"),
    receiveLibrary: at.address("receiveLibrary"),
    verifiers: two(
      at.list("verifiers", (verifiers, index) => verifiers.address(index)),
      "verifiers",
      wrong,
    ),
    confirmations: at.count("confirmations"),
    startBlock: at.count("startBlock", 0),
    rpcUrls: at.inside("rpcUrls", (urls) => ({
      verifiers: two(
        urls.list("verifiers", (verifiers, index) => verifiers.url(index)),
        "rpcUrls.verifiers",
        wrong,
      ),
      executor: urls.url("executor"),
    })),
  };
}

/** One for each verifier. */
function two<T>(list: readonly T[], name: string, wrong: string[]): readonly [T, T] {
  if (list.length !== 2) wrong.push(`${name} must be two: one for each verifier.`);
  return [list[0] as T, list[1] as T];
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
