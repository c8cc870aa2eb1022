import type { ReadyFile } from "../ready.ts";

export type Credits = {
  total_credits_nano_usd: number;
  total_usage_nano_usd: number;
  reserved_nano_usd: number;
  available_nano_usd: number;
};

export async function readCredits(gatewayUrl: string, apiKey: string): Promise<Credits> {
  const response = await fetch(`${gatewayUrl}/api/v1/credits`, { headers: { authorization: `Bearer ${apiKey}` } });
  const { data } = (await response.json()) as { data: Credits };
  return data;
}

export type Block = { number: number; hash: string; timestamp: number };

export async function readBlock(rpcUrl: string, block: string): Promise<Block> {
  const response = await fetch(rpcUrl, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_getBlockByNumber", params: [block, false] }),
  });
  const { result } = (await response.json()) as { result: { number: string; hash: string; timestamp: string } };
  return { number: Number(result.number), hash: result.hash, timestamp: Number(result.timestamp) };
}

/** The balance of the key's account. */
export async function spent({ gatewayUrl, apiKey }: Pick<ReadyFile, "gatewayUrl" | "apiKey">): Promise<number> {
  return (await readCredits(gatewayUrl, apiKey)).total_usage_nano_usd;
}

/** Asks a model for an answer of at most eight tokens. */
export function chat(
  { gatewayUrl, apiKey }: Pick<ReadyFile, "gatewayUrl" | "apiKey">,
  model: string,
): Promise<Response> {
  return fetch(`${gatewayUrl}/api/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }], max_tokens: 8 }),
  });
}
