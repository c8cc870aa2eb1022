import { RpcError } from "@inference/chain/rpc";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { encodeErrorResult, type Hex } from "viem";
import type { SimulatedBlock, SimulatedChain } from "./simulated-chain.ts";
import { receiptOf } from "./simulated-node.ts";

/** What a node says in place of the truth, for each method that the settler asks: a false answer that can be parsed. */
type Lie = (truth: unknown, asked: { chain: SimulatedChain; params: readonly unknown[] }) => unknown;

const bytes = (fill: string): Hex => `0x${fill.repeat(64)}`;
const plus = (value: unknown, by: bigint): Hex => `0x${(BigInt(value as Hex) + by).toString(16)}`;
const less = (value: unknown): Hex => `0x${(BigInt(value as Hex) / 2n).toString(16)}`;
const word = (value: bigint): Hex => `0x${value.toString(16).padStart(64, "0")}`;

const changed =
  (change: (object: Record<string, unknown>) => object): Lie =>
  (truth) =>
    truth === null ? null : { ...(truth as object), ...change(truth as Record<string, unknown>) };

const refusal =
  (errorName: string, args: readonly unknown[]): Lie =>
  () => {
    throw new RpcError(
      3,
      "execution reverted",
      encodeErrorResult({ abi: inferenceSettlementAbi, errorName, args } as never),
    );
  };

const aboutViews: readonly Lie[] = [
  (truth) => (String(truth).length === 66 ? word(BigInt(truth as Hex) + 1n) : truth),
  (truth) => (BigInt(String(truth).padEnd(3, "0")) > 0n ? word(BigInt(truth as Hex) - 1n) : word(0n)),
  () => word(0n),
  () => bytes("7"),
  () => "0x",
];

const aboutBatches: readonly Lie[] = [
  () => "0x",
  refusal("WrongDay", [2n, 1n]),
  refusal("WrongBatch", [9n, 1n]),
  refusal("CeilingReached", [1n, 5n, 0n]),
  refusal("InsufficientCredit", [`0x${"1".repeat(40)}`, 5n, 0n]),
  refusal("InsufficientCredit", [`0x${"2".repeat(40)}`, 5n, 0n]),
  refusal("OnlySettler", []),
];

const lies: Readonly<Record<string, readonly Lie[]>> = {
  eth_call: aboutViews,
  settle: aboutBatches,
  eth_getBlockByNumber: [
    () => null,
    changed(({ timestamp }) => ({ timestamp: plus(timestamp, 86_400n) })),
    changed(({ timestamp }) => ({ timestamp: plus(timestamp, -86_400n) })),
    changed(({ number }) => ({ number: plus(number, 1n) })),
    changed(() => ({ hash: bytes("8") })),
    changed(({ baseFeePerGas }) => ({ baseFeePerGas: plus(baseFeePerGas, 10n ** 12n) })),
    changed(() => ({ baseFeePerGas: "0x1" })),
  ],
  eth_getTransactionCount: [1n, 3n, -1n, -9n].map(
    (by): Lie =>
      (truth, { chain }) => {
        // Two answers that differ are a sign of it, unless the truth is that they differ.
        const isSpent = ({ transactions }: SimulatedBlock) => transactions.some(({ raw }) => raw === null);
        if (chain.blocks.slice(chain.finalOf(chain.blocks.length - 1)).some(isSpent)) return truth;
        return BigInt(truth as Hex) + by < 0n ? "0x0" : plus(truth, by);
      },
  ),
  eth_getTransactionReceipt: [
    () => null,
    changed(({ status }) => ({ status: status === "0x1" ? "0x0" : "0x1" })),
    changed(() => ({ blockHash: bytes("9") })),
    changed(() => ({ blockNumber: "0x0" })),
    (truth, { chain, params }) => {
      for (const block of chain.orphans) {
        const transaction = block.transactions.find(({ hash }) => hash === params[0]);
        if (transaction !== undefined) return receiptOf(chain, block, transaction);
      }
      return truth;
    },
  ],
  eth_estimateGas: [less, (truth) => plus(truth, 10n ** 8n)],
  eth_maxPriorityFeePerGas: [(truth) => plus(truth, 10n ** 12n), () => "0x0"],
  eth_getBalance: [() => "0x0"],
  // It says that it took the transaction, and did not.
  eth_sendRawTransaction: [() => bytes("a")],
  eth_getLogs: [
    () => [],
    (truth) => (truth as unknown[]).slice(1),
    (truth) => [...(truth as unknown[]), ...(truth as unknown[])],
  ],
};

/** `settle` is a call with which a batch is simulated, `eth_call` any other. */
export const lyingMethods: readonly string[] = Object.keys(lies);

/** The name of a request among those. */
export function methodOf(method: string, params: readonly unknown[]): string {
  const isOfBatch = method === "eth_call" && (params[0] as { from?: string }).from !== undefined;
  return isOfBatch ? "settle" : method;
}

/** Answers in the place of a node. `ask`: the truth. */
export async function lie(
  chain: SimulatedChain,
  { method, params, how }: { method: string; params: readonly unknown[]; how: number },
  ask: () => Promise<unknown>,
): Promise<unknown> {
  const known = lies[methodOf(method, params)] ?? [];
  const chosen = known[how % Math.max(1, known.length)];
  if (method === "eth_sendRawTransaction") return chosen?.(null, { chain, params });
  const truth = await ask();
  return chosen === undefined ? truth : chosen(truth, { chain, params });
}
