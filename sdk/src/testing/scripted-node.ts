import { custom, type Transport } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { type Account, type Connection, connect, type WalletAccount } from "../connection.ts";

/** Nodes that refuse, lie, lose a transaction, or lag: real ones do this seldom. */

const at = (digit: string) => `0x${digit.repeat(40)}` as const;
export const contracts = {
  ...{ inferenceSettlement: at("1"), tokenMinter: at("2"), stablecoin: at("3"), inferenceToken: at("4") },
  tokenBridge: at("5"),
} as const;

const chain = { rpc_url: null, start_block: 0, stablecoin: { decimals: 6, symbol: "USD" }, contracts };
const directory = {
  data: {
    chains: [
      { ...chain, chain_id: 1, name: "Primary", role: "primary", layerzero_eid: 11 },
      { ...chain, chain_id: 2, name: "Secondary", role: "secondary", layerzero_eid: 22 },
    ],
  },
};

/** A gateway of chains 1 and 2. @param answers What else it answers, by path. */
function scriptedGateway(answers: Readonly<Record<string, unknown>> = {}): typeof fetch {
  return async (input) => {
    const { pathname } = new URL(String(input));
    const answer = pathname === "/api/v1/contracts" ? directory : answers[pathname];
    const body = answer ?? { error: { code: "not_found", message: pathname } };
    return new Response(JSON.stringify(body), { status: answer === undefined ? 404 : 200 });
  };
}

/** @param answer What it answers in its own way; undefined: as a quiet chain at block `latest`. */
export function scriptedNode(
  chainId: number,
  answer: (method: string, params: readonly unknown[]) => unknown,
  latest = 100,
): Transport {
  return custom(
    { request: async ({ method, params = [] }) => answer(method, params) ?? usual(method) },
    { retryCount: 0 },
  );

  function usual(method: string): unknown {
    switch (method) {
      case "eth_chainId":
        return hex(chainId);
      case "eth_getCode":
        return "0x";
      case "eth_getBalance":
        return hex(10n ** 19n);
      case "eth_blockNumber":
        return hex(latest);
      case "eth_gasPrice":
      case "eth_maxPriorityFeePerGas":
        return hex(1);
      case "eth_estimateGas":
        return hex(100_000);
      case "eth_getTransactionCount":
        return hex(0);
      case "eth_getTransactionReceipt":
      case "eth_getTransactionByHash":
        return null;
      case "eth_getLogs":
        return [];
      case "eth_call":
        return word(1n);
      case "eth_getBlockByNumber":
        return { ...block, number: hex(latest) };
      default:
        throw Object.assign(new Error(`no ${method}`), { code: -32_601 });
    }
  }
}

export const signer = privateKeyToAccount(generatePrivateKey());

/** A connection to chains 1 and 2. */
export function connectionTo(
  primary: Transport,
  secondary: Transport,
  { account, answers, maxCostWei }: Given = {},
): Connection {
  const limit = maxCostWei === undefined ? {} : { maxCostWei };
  const chains = { 1: { transport: primary, ...limit }, 2: { transport: secondary, ...limit } };
  const fetch = scriptedGateway(answers);
  return connect({ gateway: "https://gateway.example", account: account ?? signer, chains, fetch, pollMs: 1 });
}
type Given = { account?: Account; answers?: Record<string, unknown>; maxCostWei?: bigint };

/** A chain on which nothing happens. */
export const quietNode = (chainId: number): Transport => scriptedNode(chainId, () => undefined);

/** Chain 1, whose dollar has 6 decimals and is approved, with these other answers. */
export function payingNode(answer: (method: string) => unknown = () => undefined): Transport {
  return scriptedNode(1, (method, [call]) => {
    if (method !== "eth_call") return answer(method);
    const { to, data } = call as { to: string; data: string };
    if (to === contracts.tokenMinter) return word(1n);
    return word(data.startsWith("0x313ce567") ? 6n : 10n ** 12n);
  });
}

/** A wallet of the signer with this answer, and the number of its requests. */
export function walletThat(answer: () => Promise<`0x${string}`>): WalletAccount & { asked: number } {
  const { address, signMessage, signTypedData } = signer;
  const wallet = {
    ...{ type: "wallet" as const, address, asked: 0, signMessage, signTypedData },
    sendTransaction: () => {
      wallet.asked += 1;
      return answer();
    },
  };
  return wallet;
}

const block = {
  ...{ hash: `0x${"a".repeat(64)}`, timestamp: "0x1", baseFeePerGas: "0x1", gasLimit: "0x1c9c380", gasUsed: "0x1" },
  ...{ transactions: [], difficulty: "0x0", size: "0x0", totalDifficulty: "0x0" },
};

export const hex = (value: bigint | number): `0x${string}` => `0x${value.toString(16)}`;

/** A number as a contract returns it. */
export const word = (value: bigint): `0x${string}` => `0x${value.toString(16).padStart(64, "0")}`;

/** The receipt of a transaction in block 5. */
export function receiptOf(hash: `0x${string}`, { isReverted = false, logs = [] as readonly unknown[] } = {}): unknown {
  const [from, to] = [at("9"), at("8")];
  return {
    ...{ status: isReverted ? "0x0" : "0x1", logs, transactionHash: hash, blockNumber: "0x5" },
    ...{ blockHash: block.hash, transactionIndex: "0x0", from, to, cumulativeGasUsed: "0x1", gasUsed: "0x1" },
    ...{ effectiveGasPrice: "0x1", logsBloom: "0x", type: "0x2", contractAddress: null },
  };
}

/** An event as a node tells it. */
export function logOf(
  address: `0x${string}`,
  { topics, data, hash, block: number = 5 }: Log & { hash: `0x${string}`; block?: number },
): unknown {
  return {
    ...{ address, topics, data, blockNumber: hex(number), transactionHash: hash, transactionIndex: "0x0" },
    ...{ blockHash: block.hash, logIndex: "0x0", removed: false },
  };
}
type Log = { topics: readonly unknown[]; data: `0x${string}` };
