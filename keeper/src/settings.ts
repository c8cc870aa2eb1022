import { readFileSync } from "node:fs";
import { refuseDevelopmentKeys } from "@inference/contracts/development-keys";
import { type JsonReader, readJson } from "@inference/contracts/json-reader";
import { type Address, type Hex, isHex } from "viem";
import { privateKeyToAddress } from "viem/accounts";

/** What the keeper is told: a JSON file named by KEEPER_FILE, and its key in the environment. */
export type KeeperSettings = {
  /** SQLite: what was spent today, how far each chain was read, and what its events left open. */
  databaseFile: string;
  pollMs: number;
  /** What may be spent on each chain in a UTC day, fees of bridges included, in the chain's coin. */
  dailyBudgetWei: bigint;
  /** What is owed, held, arrived or minted must be worth a transaction, in token units (1e-6 dollar). */
  minPayment: bigint;
  /** The primary chain first. */
  chains: readonly KeeperChainSettings[];
  key: Hex;
};

export type KeeperChainSettings = {
  name: string;
  chainId: number;
  /** LayerZero's id of the chain. */
  eid: number;
  rpcUrl: string;
  /** The first block that is read for events. */
  startBlock: number;
  /** Blocks upon an event from which on it is read no more. */
  confirmations: number;
  /** As the deployment prints them: by the names that programs use. What is absent is not looked after. */
  contracts: Readonly<Record<string, Address>>;
};

type Variables = Readonly<Record<string, string | undefined>>;

/** Throws {@link SettingsError} naming all that is wrong, `DevelopmentKeyError` for a public key on a real chain. */
export function readKeeperSettings(variables: Variables): KeeperSettings {
  const wrong: string[] = [];
  const key = variables.KEEPER_KEY ?? "";
  const isKey = isHex(key) && key.length === 66;
  if (!isKey) wrong.push("KEEPER_KEY must be a private key: 0x and 64 hexadecimal digits.");
  const settings = readJson(readFile(variables.KEEPER_FILE), wrong, (at) => ({
    databaseFile: at.text("databaseFile"),
    pollMs: at.count("pollMs", 30_000),
    dailyBudgetWei: at.amount("dailyBudgetWei"),
    minPayment: at.amount("minPayment"),
    chains: at.list("chains", (chains, index) => chains.inside(index, readChain)),
    key: isKey ? key : ("0x" as const),
  }));
  const primaries = settings.chains.filter(({ contracts }) => contracts.inferenceSettlement !== undefined);
  if (wrong.length === 0 && (primaries.length !== 1 || primaries[0] !== settings.chains[0])) {
    wrong.push("chains must begin with the primary chain, the one that has the inferenceSettlement.");
  }
  if (wrong.length > 0) throw new SettingsError(wrong.join(" "));
  const keeper = privateKeyToAddress(settings.key);
  for (const { chainId } of settings.chains) refuseDevelopmentKeys(chainId, { keeper });
  return settings;
}

function readChain(at: JsonReader): KeeperChainSettings {
  return {
    name: at.text("name"),
    chainId: at.count("chainId"),
    eid: at.count("eid"),
    rpcUrl: at.url("rpcUrl"),
    startBlock: at.count("startBlock"),
    confirmations: at.count("confirmations", 64),
    contracts: at.record("contracts", (contracts, name) => contracts.address(name)),
  };
}

function readFile(name: string | undefined): unknown {
  if (name === undefined || name === "") throw new SettingsError("KEEPER_FILE must name the keeper's JSON file.");
  try {
    return JSON.parse(readFileSync(name, "utf8"));
  } catch (error) {
    throw new SettingsError(`KEEPER_FILE: ${name} cannot be read: ${String(error)}`);
  }
}

export class SettingsError extends Error {
  override readonly name = "SettingsError";
}
