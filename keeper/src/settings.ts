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
import { isPrivateKey } from "@inference/protocol/keystore";
import type { Hex } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import type * as z from "zod";

const relayChainSettings = fields({
  /** The fee of a top-up, in token units. */
  fee: amount,
  /** The least amount of a top-up, in token units. */
  least: amount,
  /** The least amount of an x402 payment, which pays no fee; absent: requests cannot be paid on this chain. */
  leastX402: amount.optional(),
  /** The most that one payment may cost in gas and bridge fees, in the chain's coin. */
  mostWei: amount,
});

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
  /** What the relay takes here; absent: it serves other chains only. */
  relay: relayChainSettings.optional(),
});

const relaySettings = fields({
  /** The address that the gateway asks. */
  host: text.default("127.0.0.1"),
  port: count,
  /** The maximum cost on each chain in a UTC day, apart from the keeper's own. */
  dailyBudgetWei: amount,
});

const standingOrderSettings = fields({
  /** Dollars are pulled for an owner whose credit on chain is below this, in token units. */
  below: amount,
  /** The least amount of a pull, in token units. An order with a smaller maximum per day is ignored. */
  least: amount,
  /** The maximum cost of pulls on each chain in a UTC day, apart from the keeper's own. */
  dailyBudgetWei: amount,
});

const fileSettings = fields({
  /** SQLite: the amount spent today, the last block read of each chain, and the open items. */
  databaseFile: text,
  pollMs: count.default(30_000),
  /** The maximum cost on each chain in a UTC day, with bridge fees, in the chain's coin. */
  dailyBudgetWei: amount,
  /** The least amount that is worth a transaction, in token units (1e-6 dollar). */
  minPayment: amount,
  /** Sends payments that programs signed, for the gateway. Absent: there is no relay. */
  relay: relaySettings.optional(),
  /** Pulls dollars by the orders of owners that name the keeper's account. Needs `relay`, which publishes it. */
  standingOrders: standingOrderSettings.optional(),
  /** The primary chain first. */
  chains: listOf(chainSettings).refine(
    isPrimaryFirst,
    "a list that begins with the primary chain, the only one that has the inferenceSettlement",
  ),
});

/**
 * The keeper's settings: a JSON file that KEEPER_FILE names, and its key in the environment. So are the relay's own key
 * and the secret that it shares with the gateway.
 */
export type KeeperSettings = Omit<z.output<typeof fileSettings>, "relay"> & { key: Hex; relay?: RelaySettings };
export type StandingOrderSettings = z.output<typeof standingOrderSettings>;
export type RelaySettings = z.output<typeof relaySettings> & { key: Hex; secret: string };
export type KeeperChainSettings = z.output<typeof chainSettings>;
export type RelayChainSettings = z.output<typeof relayChainSettings>;

type Variables = Readonly<Record<string, string | undefined>>;

/** Throws {@link SettingsError} with all problems, `DevelopmentKeyError` for a public key on a real chain. */
export function readKeeperSettings(variables: Variables): KeeperSettings {
  const { KEEPER_KEY: key = "", RELAY_KEY: relayKey = "", RELAY_SECRET: secret = "" } = variables;
  const read = fileSettings.safeParse(readFile(variables.KEEPER_FILE));
  const wrong = read.success ? [] : sentencesOf(read.error);
  const relay = read.success ? read.data.relay : undefined;
  if (relay === undefined && read.data?.standingOrders !== undefined) {
    wrong.unshift("standingOrders needs relay, which tells owners whom their orders must name.");
  }
  if (relay !== undefined) wrong.unshift(...relayProblems({ key, relayKey, secret }));
  if (!isPrivateKey(key)) wrong.unshift("KEEPER_KEY must be a private key: 0x and 64 hexadecimal digits.");
  if (!read.success || !isPrivateKey(key) || wrong.length > 0) throw new SettingsError(wrong.join(" "));
  const keys = { keeper: key, ...(relay !== undefined && isPrivateKey(relayKey) ? { relay: relayKey } : {}) };
  const addresses = Object.fromEntries(Object.entries(keys).map(([name, each]) => [name, privateKeyToAddress(each)]));
  for (const { chainId } of read.data.chains) refuseDevelopmentKeys(chainId, addresses);
  const { relay: given, ...data } = read.data;
  return {
    ...data,
    key,
    ...(given !== undefined && isPrivateKey(relayKey) ? { relay: { ...given, key: relayKey, secret } } : {}),
  };
}

/** Two accounts, because each counts its own transactions. */
function relayProblems({ key, relayKey, secret }: { key: string; relayKey: string; secret: string }): string[] {
  const wrong: string[] = [];
  if (!isPrivateKey(relayKey)) wrong.push("RELAY_KEY must be a private key: 0x and 64 hexadecimal digits.");
  if (relayKey.toLowerCase() === key.toLowerCase()) wrong.push("RELAY_KEY must be another key than KEEPER_KEY.");
  if (secret.length < 32) wrong.push("RELAY_SECRET must have at least 32 characters, as the gateway's RELAY_SECRET.");
  return wrong;
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
