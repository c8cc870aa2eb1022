import { RpcError } from "@inference/chain/rpc";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { encodeErrorResult, type Hex } from "viem";

/** A false answer of a node that can be parsed, for each method that the jobs ask. */
type Lie = (truth: unknown) => unknown;

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

const lies: Readonly<Record<string, readonly Lie[]>> = {
  eth_call: aboutViews,
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
      (truth) =>
        BigInt(truth as Hex) + by < 0n ? "0x0" : plus(truth, by),
  ),
  eth_estimateGas: [
    less,
    (truth) => plus(truth, 10n ** 8n),
    refusal("WrongDay", [2n, 1n]),
    refusal("CeilingReached", [1n]),
    refusal("OnlySettler", []),
    refusal("MalformedData", [100n]),
  ],
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

export const lyingMethods: readonly string[] = Object.keys(lies);

/** Answers in the place of a node. `ask`: the truth. */
export async function lie(
  { method, how }: { method: string; how: number },
  ask: () => Promise<unknown>,
): Promise<unknown> {
  const known = lies[method] ?? [];
  const chosen = known[how % Math.max(1, known.length)];
  if (method === "eth_sendRawTransaction") return chosen?.(null);
  const truth = await ask();
  return chosen === undefined ? truth : chosen(truth);
}
