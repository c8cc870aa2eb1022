import type { Stablecoin } from "@inference/contracts/deploy";
import type { Address } from "viem";
import type { ControlAddress } from "./control.ts";

/** The content of `ready.json`, which exists while the devnet runs. */
export type ReadyFile = {
  gatewayUrl: string;
  /** The key of the activated wallet. */
  apiKey: string;
  /** `eid` is LayerZero's endpoint id of the chain. */
  chains: { name: string; chainId: number; eid: number; rpcUrl: string; stablecoin: Stablecoin }[];
  /** By the chain's name, then by the contract's. */
  contracts: Record<string, Record<string, Address>>;
  wallets: { address: Address; privateKey: `0x${string}`; activated: boolean }[];
  provider: { url: string };
  /** The devnet's time minus the machine's, in milliseconds. */
  clockOffsetMs: number;
  /** Where `npm run devnet` reaches the devnet. */
  control: ControlAddress;
};

/** A command that works when it is pasted into a shell. */
export function curlLine({ gatewayUrl, apiKey }: ReadyFile, model: string): string {
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "Say hello." }], max_tokens: 64 });
  return [
    `curl ${gatewayUrl}/api/v1/chat/completions`,
    `-H 'authorization: Bearer ${apiKey}'`,
    "-H 'content-type: application/json'",
    `-d ${shellQuote(body)}`,
  ].join(" ");
}

function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
