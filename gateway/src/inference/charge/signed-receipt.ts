import type { ReceiptRow } from "@inference/ledger/tables";
import type { Address } from "@inference/protocol/credential";
import type { NanoUsd } from "@inference/protocol/money";
import { dayNumber } from "@inference/protocol/window";
import type { Gateway } from "../../gateway.ts";
import type { ReceiptDetail } from "./receipt-detail.ts";

/** What a signed receipt says of a charge to a balance. */
export type SignedCharge = {
  account: Address;
  id: string;
  admittedAt: number;
  chargeNanoUsd: NanoUsd;
  model: string;
  snapshot: string;
  /** The agent that served it. Null: the protocol. */
  server: string | null;
  offer: string | null;
};

/** The gateway's signed word for a charge. The same receipt always has the same text: see `protocol/src/signed-receipt.ts`. */
export function signReceipt(
  { config, receiptKey }: Pick<Gateway, "config" | "receiptKey">,
  charge: SignedCharge,
): string {
  const { chainId, address } = config.settlement;
  return receiptKey.sign({
    iss: config.baseUrl,
    sub: charge.account,
    jti: charge.id,
    iat: Math.floor(charge.admittedAt / 1_000),
    chain_id: chainId,
    settlement: address,
    cost_nano_usd: charge.chargeNanoUsd,
    model: charge.model,
    snapshot: charge.snapshot,
    day: dayNumber(charge.admittedAt),
    served_by: (charge.server as Address | null) ?? "protocol",
    offer: charge.offer as `0x${string}` | null,
  });
}

/** The signed receipt of a request that was charged to a balance. */
export function signedReceiptOf(gateway: Gateway, account: Address, receipt: ReceiptRow): string {
  const { model, snapshot } = JSON.parse(receipt.detail) as ReceiptDetail;
  const { id, admittedAt, chargeNanoUsd, server, offer } = receipt;
  return signReceipt(gateway, { account, id, admittedAt, chargeNanoUsd, model, snapshot, server, offer });
}
