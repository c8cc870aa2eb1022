import { readFileSync } from "node:fs";
import { getAddress, type Hex, isAddress, isHex } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import * as z from "zod";
import { refuseDevelopmentKey } from "./development-key.ts";

const text = z.string({ error: "must be a text" }).min(1, "must be a text");
const count = z.int({ error: "must be a whole number, not below zero" }).min(0, "must not be below zero");
/** Too large for a JSON number. */
const amount = z
  .string({ error: "must be a whole number in a text" })
  .regex(/^\d{1,78}$/, "must be a whole number in a text")
  .transform(BigInt);
const url = z
  .string({ error: "must be an http(s) URL" })
  .refine((value) => /^https?:$/.test(URL.parse(value)?.protocol ?? ""), "must be an http(s) URL");
const address = z
  .string({ error: "must be an address" })
  .refine((value) => isAddress(value), "must be an address")
  .transform((value) => getAddress(value));

const chainSettings = z.strictObject({
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
  contracts: z.record(z.string(), address),
});

const fileSettings = z.strictObject({
  /** SQLite: what was spent today, how far each chain was read, and what its events left open. */
  databaseFile: text,
  pollMs: count.default(30_000),
  /** The maximum cost on each chain in a UTC day, with bridge fees, in the chain's coin. */
  dailyBudgetWei: amount,
  /** The least amount that is worth a transaction, in token units (1e-6 dollar). */
  minPayment: amount,
  /** The primary chain first. */
  chains: z
    .array(chainSettings, { error: "must be a list" })
    .refine(isPrimaryFirst, "must begin with the primary chain, the only one that has the inferenceSettlement"),
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
  const wrong = read.success ? [] : read.error.issues.flatMap(sentencesOf);
  if (!isKey) wrong.unshift("KEEPER_KEY must be a private key: 0x and 64 hexadecimal digits.");
  if (!read.success || !isKey) throw new SettingsError(wrong.join(" "));
  const keeper = privateKeyToAddress(key);
  for (const { chainId } of read.data.chains) refuseDevelopmentKey(chainId, keeper);
  return { ...read.data, key };
}

function isPrimaryFirst(chains: readonly KeeperChainSettings[]): boolean {
  const [first, ...others] = chains.map(({ contracts }) => contracts.inferenceSettlement !== undefined);
  return first === true && !others.includes(true);
}

function sentencesOf(issue: z.core.$ZodIssue): string[] {
  const at = (name: PropertyKey[]): string => [...issue.path, ...name].map(String).join(".");
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => `${at([key])} is unknown.`);
  return [`${at([])} ${issue.message}.`.trim()];
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
