import { formatUsd, NANO_USD_PER_TOKEN_UNIT } from "@inference/protocol/money";
import type { Evidence, ReadSecondary } from "./evidence.ts";
import { type Found, failed, forAddress, forFirstBlock, NOT_WHOLE, passed, skipped } from "./found.ts";

/** Solvency: to the nano-dollar on the primary chain, and supply of at most its cover on the others. */
export function checkBooks(evidence: Evidence): Found {
  if (evidence.books === null) return skipped(NOT_WHOLE);
  const { primary, secondaries } = evidence.books;
  const nodes = new Set([primary.node, ...secondaries.flatMap((each) => ("node" in each ? each.node : []))]);
  const trusts = [...nodes].map((node) => `nodes that ${node} chose`);
  trusts.push(...forAddress(evidence), ...forFirstBlock(primary));
  const claims = [primary.supplyNanoUsd, primary.creditNanoUsd, primary.owedNanoUsd, primary.linesNanoUsd];
  const backing = BigInt(primary.backingNanoUsd);
  if (backing !== claims.reduce((sum, claim) => sum + BigInt(claim), 0n)) {
    return failed("on the primary chain, backing is not supply, credit, owed and lines together", trusts);
  }
  if (BigInt(primary.dollarsToken) * NANO_USD_PER_TOKEN_UNIT < backing) {
    return failed("the minter has fewer dollars than its books say", trusts);
  }
  for (const chain of secondaries) {
    if ("unread" in chain) continue;
    if (!isCovered(chain)) return failed(`chain ${chain.chainId} has more tokens than dollars behind them`, trusts);
    if (BigInt(chain.dollarsToken) < BigInt(chain.outboxToken)) {
      return failed(`the outbox of chain ${chain.chainId} has fewer dollars than its books say`, trusts);
    }
  }
  const unread = secondaries.flatMap((chain) => ("unread" in chain ? `${chain.chainId} (${chain.unread})` : []));
  if (unread.length === 0 && primary.listedLinesNanoUsd !== primary.linesNanoUsd) {
    const [listed, all] = [primary.listedLinesNanoUsd, primary.linesNanoUsd].map((text) => formatUsd(Number(text)));
    return failed(
      `the gateway leaves a chain out: lines of $${listed} are of chains that it names, of $${all}`,
      trusts,
    );
  }
  if (unread.length > 0) return skipped(`these chains could not be read: ${unread.join(", ")}`, trusts);
  return passed(`${1 + secondaries.length} chains`, trusts);
}

/** I1b without the tokens on their way, which are never negative. */
export function isCovered(books: ReadSecondary): boolean {
  const { supplyToken, giftedToken, lineToken, outboxToken, flushedToken, bookedToken } = books;
  const owed = BigInt(supplyToken) + BigInt(giftedToken);
  return owed <= BigInt(lineToken) + BigInt(outboxToken) + BigInt(flushedToken) - BigInt(bookedToken);
}
