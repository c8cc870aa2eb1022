import type { ErrorBody, ErrorCode, ErrorMetadata } from "@inference/protocol/errors";

/** The gateway refused a request, with one of its codes. */
export class RefusedError extends Error {
  override name = "RefusedError";
  readonly code: ErrorCode;
  readonly status: number;
  /** The field of the request that is wrong. */
  readonly param: string | null;
  /** Numbers for programs: what was needed, what is left, when it resets. */
  readonly metadata: ErrorMetadata;
  /** Whether the same request may succeed within seconds. */
  readonly isRetryable: boolean;

  constructor({ error }: ErrorBody, { status, headers }: Pick<Response, "status" | "headers">) {
    super(error.message);
    this.code = error.code;
    this.status = status;
    this.param = error.param;
    this.metadata = error.metadata ?? {};
    this.isRetryable = headers.get("x-should-retry") === "true";
  }
}

/** A contract refuses a transaction. A transaction that was sent and reverted has a `hash`. */
export class ContractError extends Error {
  override name = "ContractError";
  /** The contract's error, such as `ERC20InsufficientBalance`; null: unknown. */
  readonly errorName: string | null;
  readonly args: readonly unknown[];
  readonly hash: `0x${string}` | null;

  constructor(
    message: string,
    about: { errorName?: string | null; args?: readonly unknown[]; hash?: `0x${string}`; cause?: unknown } = {},
  ) {
    super(message, { cause: about.cause });
    this.errorName = about.errorName ?? null;
    this.args = about.args ?? [];
    this.hash = about.hash ?? null;
  }
}

/**
 * An error that comes neither from the gateway nor from a contract.
 *
 * - `unreachable`: no answer, or an answer that is not a gateway's
 * - `no_account`: the call needs an account that can sign, and the client has none
 * - `no_credential`: the call needs an API key or an account, and the client has neither
 * - `unknown_chain`: the gateway names no such chain, or no contract of that name on it
 * - `no_node`: neither the client nor the gateway names a node of the chain
 * - `wrong_chain`: the node answers for another chain
 * - `chain_unavailable`: the node does not answer, or refuses
 * - `lost_transaction`: a transaction was sent and is no longer known
 * - `insufficient_gas`: the account has too little of the chain's coin for the transaction
 * - `cost_too_high`: the chain's node asks for more of its coin than the client's limit
 * - `nothing_to_claim`: an agent's rewards for the account are below a unit
 * - `wrong_contract`: a contract is not what the gateway says
 * - `no_market`: the gateway names no market of the token, or it has too few
 * - `order_over`: a standing order's end has passed, by the chain's clock
 * - `order_too_small`: a standing order allows less a day than the keeper pulls at once
 * - `price_moved`: the market asks more than the limit
 * - `top_up_failed`: a relay can no longer make a payment: the message says what was paid
 * - `wallet_rejected`: the owner of the wallet declined
 * - `wallet_failed`: the wallet failed for another reason
 */
export class ClientError extends Error {
  override name = "ClientError";
  readonly code: ClientErrorCode;

  constructor(code: ClientErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

export type ClientErrorCode =
  | "unreachable"
  | "no_account"
  | "no_credential"
  | "unknown_chain"
  | "no_node"
  | "wrong_chain"
  | "chain_unavailable"
  | "lost_transaction"
  | "insufficient_gas"
  | "cost_too_high"
  | "nothing_to_claim"
  | "wrong_contract"
  | "no_market"
  | "order_over"
  | "order_too_small"
  | "price_moved"
  | "top_up_failed"
  | "wallet_rejected"
  | "wallet_failed";

/** Waits for a wallet. Throws `ClientError` `wallet_rejected` or `wallet_failed`. */
export async function fromWallet<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ClientError) throw error;
    if (isRejected(error)) {
      throw new ClientError("wallet_rejected", "You declined in your wallet. Nothing was sent.", error);
    }
    const { shortMessage, message } = error as { shortMessage?: string; message?: string };
    throw new ClientError("wallet_failed", `The wallet refused: ${shortMessage ?? message ?? String(error)}`, error);
  }
}

/** EIP-1193. */
const USER_REJECTED = 4001;

/** Whether the owner of a wallet declined. */
export function isRejected(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  return code === USER_REJECTED || isRejected(cause);
}
