import { type KeyboardEvent, type ReactNode, useState } from "react";
import { placesOf, usd } from "../format.ts";
import { Amount } from "../parts.tsx";
import { colorOf, type Stack, ticksOf } from "./stack.ts";
import { Table } from "./table.tsx";

/**
 * Stacked bars with an axis. A bar is read by pointing, or by the arrow keys: the chart is a slider over its bars.
 *
 * @param label The chart's name: what it shows, by what.
 * @param sums Whether the names below the chart have their sums.
 */
export function Chart({ label, stack, sums = false }: ChartParts): ReactNode {
  const { bars, series } = stack;
  const [chosen, choose] = useState<number>();
  const ticks = ticksOf(Math.max(0, ...bars.map(({ nanoUsd }) => nanoUsd)));
  const top = ticks.at(-1) ?? 1;
  const bar = chosen === undefined ? undefined : bars[chosen];
  const onKeyDown = (event: KeyboardEvent): void => {
    const last = bars.length - 1;
    const at = chosen ?? last;
    const to = new Map([
      ["ArrowLeft", at - 1],
      ["ArrowRight", at + 1],
      ["Home", 0],
      ["End", last],
      ["Escape", -2],
    ]).get(event.key);
    if (to === undefined) return;
    event.preventDefault();
    choose(to === -2 ? undefined : Math.max(0, Math.min(last, chosen === undefined ? last : to)));
  };
  return (
    <div className="stack">
      <div className="chart">
        <div className="axis" aria-hidden="true">
          {ticks.map((tick) => (
            <span key={tick}>
              {usd(tick)}
              <b style={{ bottom: `${(tick / top) * 100}%` }}>{usd(tick)}</b>
            </span>
          ))}
        </div>
        <div
          className="plot"
          role="slider"
          tabIndex={0}
          aria-label={label}
          aria-valuemin={0}
          aria-valuemax={Math.max(0, bars.length - 1)}
          aria-valuenow={chosen ?? bars.length - 1}
          aria-valuetext={bar === undefined ? "arrow keys read the bars" : `${bar.title}: ${usd(bar.nanoUsd)}`}
          onKeyDown={onKeyDown}
          onBlur={() => choose(undefined)}
          onPointerLeave={() => choose(undefined)}
        >
          {ticks.slice(1).map((tick) => (
            <div key={tick} className="tick" style={{ bottom: `${(tick / top) * 100}%` }} />
          ))}
          {bars.map(({ id, parts }, index) => (
            <div
              key={id}
              className={index === chosen ? "bar chosen" : "bar"}
              onPointerEnter={() => choose(index)}
              onPointerDown={() => choose(index)}
            >
              {parts
                .map((nanoUsd, at) =>
                  nanoUsd === 0 ? null : (
                    <i
                      key={series[at]?.name}
                      className={colorOf(at, series[at] ?? { name: "", nanoUsd })}
                      style={{ height: `${(nanoUsd / top) * 100}%` }}
                    />
                  ),
                )
                .reverse()}
            </div>
          ))}
          {bar === undefined || chosen === undefined ? null : <Tip {...{ bar, chosen, stack }} />}
        </div>
        <Dates bars={bars} />
      </div>
      <Legend stack={stack} sums={sums} />
      <details>
        <summary className="hint">As a table</summary>
        <ChartTable label={label} stack={stack} />
      </details>
    </div>
  );
}
type ChartParts = { label: string; stack: Stack; sums?: boolean };

/** Beside the bar, and never over it. */
function Tip({ bar, chosen, stack: { bars, series } }: { bar: Stack["bars"][number]; chosen: number; stack: Stack }) {
  const places = placesOf([bar.nanoUsd, ...bar.parts]);
  const isLeft = chosen >= bars.length / 2;
  const edge = `${((isLeft ? bars.length - chosen : chosen + 1) / bars.length) * 100}%`;
  return (
    <div className="tip" aria-hidden="true" style={isLeft ? { right: edge } : { left: edge }}>
      <strong>{bar.title}</strong>
      <strong className="amount">
        <Amount nanoUsd={bar.nanoUsd} places={places} />
      </strong>
      {series
        .map((one, index) => ({ one, index, nanoUsd: bar.parts[index] ?? 0 }))
        .filter(({ nanoUsd }) => nanoUsd > 0)
        .reverse()
        .map(({ one, index, nanoUsd }) => [
          <span key={`${one.name} colour`} className={`swatch ${colorOf(index, one)}`} />,
          <span key={one.name}>{one.name}</span>,
          <Amount key={`${one.name} amount`} nanoUsd={nanoUsd} places={places} />,
        ])}
    </div>
  );
}

/** About six dates, counted back from the last bar, which always has one. */
function Dates({ bars }: { bars: Stack["bars"] }): ReactNode {
  const every = Math.max(1, Math.ceil(bars.length / 6));
  const last = bars.length - 1;
  return (
    <div className="dates" aria-hidden="true">
      {bars.map(({ id, label }, index) =>
        (last - index) % every !== 0 ? null : (
          <span
            key={id}
            className={index === last ? "last" : undefined}
            style={index === last ? {} : { left: `${((index + 0.5) / bars.length) * 100}%` }}
          >
            {label}
          </span>
        ),
      )}
    </div>
  );
}

type Row = Stack["bars"][number];

function ChartTable({ label, stack: { bars, series } }: { label: string; stack: Stack }): ReactNode {
  const rows = bars.filter(({ nanoUsd }) => nanoUsd > 0).toReversed();
  const places = placesOf(rows.flatMap(({ nanoUsd, parts }) => [nanoUsd, ...parts]));
  return (
    <Table
      label={`Table: ${label}`}
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        { title: "Time, UTC", className: "whole", cell: ({ title }) => title },
        ...series.map(({ name }, index) => ({ title: name, amount: ({ parts }: Row) => parts[index] ?? 0, places })),
        { title: "Sum", amount: ({ nanoUsd }) => nanoUsd, places },
      ]}
    />
  );
}

/** The series' names with their colours, and with their sums, which add up to the total. */
function Legend({ stack: { series }, sums }: { stack: Stack; sums: boolean }): ReactNode {
  const places = placesOf(series.map(({ nanoUsd }) => nanoUsd));
  return (
    <ul className={sums ? "legend sums" : "legend"}>
      {series.map((one, index) => (
        <li key={one.name}>
          <span className={`swatch ${colorOf(index, one)}`} aria-hidden="true" />
          <span className="wrap">{one.name}</span>
          {sums ? <Amount nanoUsd={one.nanoUsd} places={places} /> : null}
        </li>
      ))}
    </ul>
  );
}
