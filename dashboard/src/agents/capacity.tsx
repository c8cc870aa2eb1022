import type { AgentBooks } from "@inference/sdk/agents";
import type { OfferState } from "@inference/sdk/offers";
import type { ReactNode } from "react";
import { fromNow, usd } from "../format.ts";
import { Amount, Card, Stat } from "../parts.tsx";
import { dayOf } from "./day.ts";
import { capacityOf, units } from "./parts.tsx";

/** Today's capacity in four figures, and as one bar that adds up to it. */
export function Capacity({ agent, state }: { agent: AgentBooks; state: OfferState }): ReactNode {
  const day = dayOf(agent, state);
  const { offer, today } = state;
  const parts = [
    { name: "Sold", nanoUsd: day.sold, color: "series1" },
    { name: "Own use", nanoUsd: day.ownUse, color: "series3" },
    { name: "Held for running requests", nanoUsd: day.held, color: "series4" },
    { name: "Offered, not sold", nanoUsd: day.left, color: "series5" },
    { name: "Kept for own use", nanoUsd: day.kept, color: "unsold" },
  ].filter(({ name, nanoUsd }) => nanoUsd > 0n || !name.startsWith("Held"));
  return (
    <>
      <section className="stats" aria-label="Today">
        <Stat label="Capacity today" about={stakeText(agent)}>
          <Amount nanoUsd={day.capacity} />
        </Stat>
        <Stat
          label="Sold today"
          about={offer === null ? "Nothing is for sale." : `of ${usd(today.limit_nano_usd)} offered`}
        >
          <Amount nanoUsd={day.sold} />
        </Stat>
        <Stat label="Own use today" about="Its own requests.">
          <Amount nanoUsd={day.ownUse} />
        </Stat>
        <Stat
          label="Unused"
          about={day.capacity === 0n ? "Capacity begins at 00:00 UTC." : `expires ${fromNow(today.resets_at)}`}
        >
          <Amount nanoUsd={day.left + day.kept} />
        </Stat>
      </section>
      {day.capacity === 0n ? null : (
        <Card title="Where today's capacity goes" side={<span className="hint">Capacity {usd(day.capacity)}</span>}>
          <div className="shares" aria-hidden="true">
            {parts
              .filter(({ nanoUsd }) => nanoUsd > 0n)
              .map(({ name, nanoUsd, color }) => (
                <span key={name} className={color} style={{ flexGrow: Number(nanoUsd) / Number(day.capacity) }} />
              ))}
          </div>
          <ul className="legend">
            {parts.map(({ name, nanoUsd, color }) => (
              <li key={name}>
                <span className={`swatch ${color}`} aria-hidden="true" />
                {name} {usd(nanoUsd)}
              </li>
            ))}
          </ul>
        </Card>
      )}
    </>
  );
}

/** The stake behind today's capacity, or the capacity of the next day if it differs. */
export function stakeText(agent: AgentBooks): string {
  const { name, stake, capacityTodayNanoUsd: today } = agent;
  const next = capacityOf(agent);
  if (stake === 0n && today === 0n) {
    return `Stake 1 unit and ${name} has $1.00 of inference every day from 00:00 UTC.`;
  }
  if (next === today) return `${units(today * 10n ** 9n)} in use of ${units(stake).split(" ")[0]} staked`;
  return `${usd(next)} from 00:00 UTC on`;
}
