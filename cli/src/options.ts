import { ownValue } from "@inference/protocol/own-value";
import type { ChainOptions } from "@inference/sdk";
import { http, isAddress, parseEther } from "viem";
import type { OptionSpecs } from "./command.ts";
import { UsageError } from "./errors.ts";
import type { Login } from "./login-state.ts";

/** The gateway. */
export const gatewayOptions = {
  gateway: { type: "string", value: "url", about: "the gateway; else that of the login, or $INFERENCE_GATEWAY" },
} as const satisfies OptionSpecs;

export const keyOptions = {
  "api-key": { type: "string", value: "key", about: "else $INFERENCE_API_KEY, or that of the login" },
} as const satisfies OptionSpecs;

export const chainOptions = {
  rpc: {
    ...{ type: "string", value: "chain-id=url", multiple: true },
    about: "a node of your own; else the gateway's word is taken",
  },
  contract: {
    ...{ type: "string", value: "chain-id:name=address", multiple: true },
    about: "a contract's address that you trust, such as 8453:inferenceSettlement=0x...",
  },
  "max-cost": {
    ...{ type: "string", value: "chain-id=coins", multiple: true },
    about: "the most that a transaction may cost in the chain's coin; else 0.1",
  },
} as const satisfies OptionSpecs;

/** The chain whose dollars or tokens a command takes. */
export const onChainOption = {
  chain: { type: "string", value: "chain", about: "its id or name; the primary chain without it" },
} as const satisfies OptionSpecs;

/** The signing account, with Foundry's names. */
export const accountOptions = {
  account: { type: "string", value: "name", about: "a keystore of Foundry's; else $ETH_KEYSTORE_ACCOUNT" },
  keystore: { type: "string", value: "file", about: "a keystore's file; else $ETH_KEYSTORE" },
  "password-file": {
    type: "string",
    value: "file",
    about: "the keystore's password; else $ETH_PASSWORD, or asked for",
  },
  "private-key": { type: "string", value: "key", about: "0x and 64 digits, or - to read it from stdin" },
} as const satisfies OptionSpecs;

export const signerOptions = { ...gatewayOptions, ...accountOptions, ...chainOptions } as const satisfies OptionSpecs;

/** A chain's node and contracts, as the login stores them. */
export type ChainPins = Login["chains"];

/** The stored pins with the changes of `--rpc`, `--contract` and `--max-cost`. Throws {@link UsageError}. */
export function readPins(
  {
    rpc = [],
    contract = [],
    "max-cost": maxCost = [],
  }: Readonly<Partial<Record<"rpc" | "contract" | "max-cost", readonly string[] | undefined>>>,
  kept: ChainPins = {},
): ChainPins {
  const pins: ChainPins = structuredClone(kept);
  const of = (chainId: string) => (pins[chainId] = ownValue(pins, chainId) ?? {});
  for (const text of rpc) {
    const [, chainId = "", rpcUrl = ""] = /^(\d+)=(https?:\/\/\S+)$/.exec(text) ?? [];
    if (chainId === "") throw new UsageError(`--rpc takes CHAIN-ID=URL, not \`${text}\`.`);
    of(chainId).rpcUrl = rpcUrl;
  }
  for (const text of contract) {
    const [, chainId = "", name = "", address = ""] = /^(\d+):(\w+)=(0x\w+)$/.exec(text) ?? [];
    if (!isAddress(address)) throw new UsageError(`--contract takes CHAIN-ID:NAME=ADDRESS, not \`${text}\`.`);
    const chain = of(chainId);
    chain.contracts = { ...chain.contracts, [name]: address };
  }
  for (const text of maxCost) {
    const [, chainId = "", coins = ""] = /^(\d+)=(\d{1,12}(?:\.\d{1,18})?)$/.exec(text) ?? [];
    if (chainId === "") throw new UsageError(`--max-cost takes CHAIN-ID=COINS, such as 137=2.5, not \`${text}\`.`);
    of(chainId).maxCostWei = String(parseEther(coins));
  }
  return pins;
}

export function chainsOf(pins: ChainPins): Record<number, ChainOptions> {
  return Object.fromEntries(
    Object.entries(pins).map(([chainId, { rpcUrl, contracts, maxCostWei }]) => [
      Number(chainId),
      {
        ...(rpcUrl === undefined ? {} : { transport: http(rpcUrl) }),
        ...(maxCostWei === undefined ? {} : { maxCostWei: BigInt(maxCostWei) }),
        ...(contracts === undefined ? {} : { contracts: contracts as Record<string, `0x${string}`> }),
      },
    ]),
  );
}
