import { ShieldCheck } from "lucide-react";
import type { ReactNode } from "react";
import { placesOf, usd } from "../format.ts";
import { chainNameIn, type Status, useDirectory } from "../gateway.ts";
import { Amount, ButtonLink, Fact, Note } from "../parts.tsx";
import { VerdictHead } from "../verify/verdict.tsx";
import { type ReserveLine, type Reserves, reservesOf } from "./reserves.ts";

/** Dollars held and claims on them, on all chains, with a total on each side. */
export function ReservesCard({ books, primary_chain_id: primary }: Status): ReactNode {
  const directory = useDirectory();
  if (books === null) {
    return (
      <Note kind="warn">
        <strong>The reserves cannot be read now.</strong> The primary chain's node does not answer. The page asks again
        every 15 seconds.
      </Note>
    );
  }
  const nameOf = (id: number | null): string => (id === null ? "" : chainNameIn(directory.data, id));
  const reserves = reservesOf(books, primary);
  const { held, claims, heldNanoUsd, claimedNanoUsd } = reserves;
  return (
    <section className="card flush" aria-label="Reserves">
      <VerdictHead
        kind={reserves.matches === null ? "unknown" : reserves.matches ? "good" : "bad"}
        title={titleOf(reserves)}
        side={<ButtonLink icon={ShieldCheck} text="Check it yourself" href="/verify" />}
      >
        {aboutOf(reserves, books.chains.length + 1)}
      </VerdictHead>
      <div className="sides">
        <Side title="Dollars held" lines={held} totalNanoUsd={heldNanoUsd} nameOf={nameOf} />
        <Side title="Claims on them" lines={claims} totalNanoUsd={claimedNanoUsd} nameOf={nameOf} />
      </div>
    </section>
  );
}

function titleOf({ heldNanoUsd: held, claimedNanoUsd: claimed, matches }: Reserves): string {
  if (held === null || claimed === null) return "A chain was not read";
  if (matches === null) return `${usd(held)} held, ${usd(claimed)} claimed`;
  return `${usd(held)} held ${held === claimed ? "=" : "≠"} ${usd(claimed)} claimed`;
}

function aboutOf({ heldNanoUsd: held, claimedNanoUsd: claimed, matches }: Reserves, chains: number): string {
  if (held === null || claimed === null || matches === null) {
    return "There is no verdict until every chain is read. The chains that were read match.";
  }
  if (matches) return `Reserves on ${chains} chains cover every token, balance and payout. Difference $0.00.`;
  if (held === claimed) return "The totals match, and the reserves of one chain do not.";
  const difference = held > claimed ? held - claimed : claimed - held;
  return `${usd(difference)} ${held > claimed ? "more is held than claimed" : "is missing"}.`;
}

function Side({ title, lines, totalNanoUsd, nameOf }: SideParts): ReactNode {
  const places = placesOf(lines.flatMap(({ nanoUsd }) => nanoUsd ?? []));
  const amountOf = (nanoUsd: bigint | null): ReactNode =>
    nanoUsd === null ? <span className="quiet">not read</span> : <Amount nanoUsd={nanoUsd} places={places} />;
  return (
    <div className="side-sums">
      <h3>{title}</h3>
      <dl>
        {lines.map(({ title, chainId, nanoUsd }) => (
          <div key={`${title} ${chainId}`}>
            <Fact
              name={
                <>
                  {title} <span className="hint">{nameOf(chainId)}</span>
                </>
              }
              value={amountOf(nanoUsd)}
            />
          </div>
        ))}
      </dl>
      <dl className="total">
        <div>
          <Fact name="Total" value={amountOf(totalNanoUsd)} />
        </div>
      </dl>
    </div>
  );
}
type SideParts = {
  title: string;
  lines: readonly ReserveLine[];
  totalNanoUsd: bigint | null;
  nameOf: (chainId: number | null) => string;
};
