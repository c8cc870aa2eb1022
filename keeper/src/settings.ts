import { readFileSync } from "node:fs";
import { refuseDevelopmentKeys } from "@inference/contracts/development-keys";
import {
  address,
  amount,
  count,
  fields,
  listOf,
  recordOf,
  sentencesOf,
  text,
  url,
} from "@inference/contracts/json-fields";
import { type Hex, isHex } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import type * as z from "zod";

const chainSettings = fields({
  name: text,
  chainId: count,
  /** LayerZero's id of the chain. */
  eid: count,
  rpcUrl: url,
  /** The first block that is read for events. */
  startBlock: count,
  /** The number of confirmations after which an event is not read again. */
  confirmations: count.default(64),
  /** As the deployment prints them, by name. The keeper has no task for absent ones. */
  contracts: recordOf(address),
});

const fileSettings = fields({
  /** SQLite: the amount spent today, the last block read of each chain, and the open items. */
  databaseFile: text,
  pollMs: count.default(30_000),
  /** The maximum cost on each chain in a UTC day, with bridge fees, in the chain's coin. */
  dailyBudgetWei: amount,
  /** The least amount that is worth a transaction, in token units (1e-6 dollar). */
  minPayment: amount,
  /** The primary chain first. */
  chains: listOf(chainSettings).refine(
    isPrimaryFirst,
    "a list that begins with the primary chain, the only one that has the inferenceSettlement",
  ),
});

/** The keeper's settings: a JSON file that KEEPER_FILE names, and its key in the environment. */
export type KeeperSettings = z.output<typeof fileSettings> & { key: Hex };
export type KeeperChainSettings = z.output<typeof chainSettings>;

type Variables = Readonly<Record<string, string | undefined>>;

/** Throws {@link SettingsError} with all problems, `DevelopmentKeyError` for a public key on a real chain. */
export function readKeeperSettings(variables: Variables): KeeperSettings {
  const key = variables.KEEPER_KEY ?? "";
  const isKey = isHex(key) && key.length === 66;
  const read = fileSettings.safeParse(readFile(variables.KEEPER_FILE));
  const wrong = read.success ? [] : sentencesOf(read.error);
  if (!isKey) wrong.unshift("KEEPER_KEY must be a private key: 0x and 64 hexadecimal digits.");
  if (!read.success || !isKey) throw new SettingsError(wrong.join(" "));
  const keeper = privateKeyToAddress(key);
  for (const { chainId } of read.data.chains) refuseDevelopmentKeys(chainId, { keeper });
  return { ...read.data, key };
}

function isPrimaryFirst(chains: readonly KeeperChainSettings[]): boolean {
  const [first, ...others] = chains.map(({ contracts }) => contracts.inferenceSettlement !== undefined);
  return first === true && !others.includes(true);
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
