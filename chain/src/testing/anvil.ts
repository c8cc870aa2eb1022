import { startAnvil as startNode } from "@inference/contracts/anvil";

/** A local chain in a process of its own. */
export type Anvil = AsyncDisposable & {
  rpcUrl: string;
  /** Throws the node's answer if it is an error. */
  rpc<T = unknown>(method: string, params?: readonly unknown[]): Promise<T>;
  stop(): Promise<void>;
};

/** How far below the latest block the finalized one is. */
export const FINALITY_DEPTH = 8;

export async function startAnvil(chainId = 31337): Promise<Anvil> {
  const node = await startNode(chainId, { slotsInAnEpoch: FINALITY_DEPTH / 2 });
  const { rpcUrl } = node;
  const stop = async (): Promise<void> => node[Symbol.asyncDispose]();
  return {
    ...{ rpcUrl, stop, [Symbol.asyncDispose]: stop },
    async rpc<T>(method: string, params: readonly unknown[] = []): Promise<T> {
      const answer = await post(rpcUrl, { jsonrpc: "2.0", id: 1, method, params });
      if (answer.error !== undefined) throw new Error(`${method}: ${JSON.stringify(answer.error)}`);
      return answer.result as T;
    },
  };
}

export async function post(url: string, body: object): Promise<{ result?: unknown; error?: unknown }> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return (await response.json()) as { result?: unknown; error?: unknown };
}
