import { type Address, isAddress, lowerAddress } from "@inference/protocol/credential";
import { isRequestId } from "@inference/protocol/id";
import type { SettledUse } from "@inference/protocol/use-leaf";
import { dayNumber } from "@inference/protocol/window";
import type { ListedReceipt } from "../spending.ts";

/** The use as the leaf must have it: all of it comes from the receipt. Throws if the receipt's id is none. */
export function settledUseOf(receipt: ListedReceipt, account: Address, batch: number): SettledUse {
  const { id, charge_nano_usd: costNanoUsd, created_at: at, served_by: by, offer } = receipt;
  if (!isRequestId(id)) throw new TypeError(`${id} is not the id of a receipt.`);
  const isAgent = by !== null && isAddress(by) && offer !== null;
  return {
    ...{ batch, account: lowerAddress(account), receipt: id, costNanoUsd },
    dayServed: dayNumber(Date.parse(at)),
    agent: isAgent ? { token: lowerAddress(by), offerHash: offer as `0x${string}` } : undefined,
  };
}
