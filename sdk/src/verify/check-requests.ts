import { formatUsd } from "@inference/protocol/money";
import { isSignedBy, readSignedReceipt, type SignedReceipt } from "@inference/protocol/signed-receipt";
import { dayNumber } from "@inference/protocol/window";
import { hexToBytes } from "viem";
import type { StatementUse } from "../spending.ts";
import { sumOf } from "./check-account.ts";
import type { Evidence, RequestLog } from "./evidence.ts";
import { type Found, failed, forChain, NO_NODE, passed, skipped } from "./found.ts";

/** Each use has a signed receipt in the customer's log, with the same charge, prices, day and server. */
export async function checkRequests(evidence: Evidence): Promise<Found> {
  const { said, chain, log, period } = evidence;
  if (chain === null || log === null) return skipped(NO_NODE);
  const trusts = forChain(evidence);
  const { own, unsigned } = await readLog(evidence, log, hexToBytes(chain.receiptKey));
  if (unsigned > 0 && own.size === 0) return failed("no receipt of the log is signed with the contract's key", trusts);
  const wrong = said.uses.find((use) => own.has(use.id) && !isOf(use, own.get(use.id)));
  if (wrong !== undefined) return failed(`the use ${wrong.id} is not what its signed receipt says`, trusts);
  const since = Math.min(...[...own.values()].map(({ iat }) => iat * 1_000));
  const unknown = said.uses.filter(({ id }) => !own.has(id));
  const times = new Map(said.receipts.map(({ id, created_at: at }) => [id, at]));
  const began = ({ id, day_served: day }: StatementUse) => Date.parse(times.get(id) ?? day);
  const mine = log.isComplete ? unknown.filter((use) => began(use) > since) : [];
  if (mine.length > 0) {
    return failed(
      `${mine.length} uses of $${chargesOf(mine)} are no requests of yours, such as ${mine[0]?.id}`,
      trusts,
    );
  }
  const charged = new Set(said.uses.map(({ id }) => id));
  const free =
    period !== null ? [] : [...own.values()].filter((each) => each.cost_nano_usd > 0 && !charged.has(each.jti));
  const favour = formatUsd(sumOf(free.map(({ cost_nano_usd: cost }) => cost)));
  const notes = [
    `${said.uses.length - unknown.length} of ${said.uses.length} uses are requests of yours`,
    ...(free.length > 0 ? [`${free.length} receipts of $${favour} were never charged, in your favour`] : []),
    ...(unsigned > 0 ? [`${unsigned} receipts of the log are not signed with the contract's key of today`] : []),
    ...(unknown.length > 0 ? [`${unknown.length} uses of $${chargesOf(unknown)} are not in the log`] : []),
  ].join("; ");
  return unknown.length > 0 || unsigned > 0 ? skipped(notes, trusts) : passed(notes, trusts);
}

/** The receipts of this account and contract with a valid signature, and the number of the others. */
async function readLog({ account, contract }: Evidence, { receipts }: RequestLog, publicKey: Uint8Array) {
  const own = new Map<string, SignedReceipt>();
  let unsigned = 0;
  for (const text of new Set(receipts)) {
    const receipt = readSignedReceipt(text);
    const isOwn =
      receipt?.sub.toLowerCase() === account.toLowerCase() &&
      receipt.chain_id === contract.chainId &&
      receipt.settlement.toLowerCase() === contract.address.toLowerCase();
    if (receipt === undefined || !isOwn) continue;
    if (!(await isSignedBy(publicKey, text))) unsigned += 1;
    else if (!((own.get(receipt.jti)?.cost_nano_usd ?? Number.POSITIVE_INFINITY) <= receipt.cost_nano_usd)) {
      // The cheaper one of two receipts of a request counts.
      own.set(receipt.jti, receipt);
    }
  }
  return { own, unsigned };
}

function isOf(use: StatementUse, receipt: SignedReceipt | undefined): boolean {
  return (
    use.charge_nano_usd === receipt?.cost_nano_usd &&
    use.price_snapshot === receipt.snapshot &&
    dayNumber(Date.parse(use.day_served)) === receipt.day &&
    use.served_by === receipt.served_by &&
    use.offer === receipt.offer
  );
}

function chargesOf(uses: readonly StatementUse[]): string {
  return formatUsd(sumOf(uses.map(({ charge_nano_usd: charge }) => charge)));
}
