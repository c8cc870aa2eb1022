import type { ReactNode } from "react";
import { Amount } from "../parts.tsx";

export type Column<T> = {
  /** Empty: the column has no heading. */
  title: string;
  /** In place of the title. */
  head?: ReactNode;
  cell?: (row: T) => ReactNode;
  /** In place of `cell`: an amount in nano-dollars, with at least so many `places`. Null: there is none. */
  amount?: (row: T) => number | bigint | null;
  places?: number;
  /** `number`: aligned to the right. `name`: the heading of the row. */
  kind?: "number" | "name" | undefined;
  className?: string | undefined;
  /** In a card below 720 px: `titled` shows the column's title before the value, `whole` takes the card's width. */
  inCard?: "titled" | "whole" | "hidden" | undefined;
};

/** A table. Below 720 px its rows become cards of two columns, if `asCards`; otherwise it scrolls, also by keyboard. */
export function Table<T>({ label, columns, rows, keyOf, asCards, rowClass, foot }: TableParts<T>) {
  return (
    <section
      className={`scroll ${asCards ? "cards" : ""}`}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: without it the keyboard cannot reach what is cut off
      tabIndex={0}
    >
      <table>
        <thead>
          <tr>
            {columns.map(({ title, head = title, kind, amount }) =>
              title === "" ? (
                <td key={title} />
              ) : (
                <th key={title} scope="col" className={kind === "number" || amount ? "number" : undefined}>
                  {head}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} className={rowClass?.(row)}>
              {columns.map((column) => (
                <Cell key={column.title} column={column} row={row} />
              ))}
            </tr>
          ))}
        </tbody>
        {foot === undefined ? null : <tfoot>{foot}</tfoot>}
      </table>
    </section>
  );
}
type TableParts<T> = {
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  keyOf: (row: T) => string | number;
  asCards?: boolean;
  rowClass?: (row: T) => string | undefined;
  /** Its last row. */
  foot?: ReactNode;
};

function Cell<T>({ column, row }: { column: Column<T>; row: T }): ReactNode {
  const { title, kind, className, cell, amount, places, inCard } = column;
  const nanoUsd = amount?.(row);
  const content = nanoUsd === undefined ? cell?.(row) : nanoUsd === null ? "–" : <Amount {...{ nanoUsd, places }} />;
  const shown = {
    className: [kind === "number" || amount ? "number" : "", className, inCard === undefined ? "" : `in-card-${inCard}`]
      .filter(Boolean)
      .join(" "),
    "data-title": inCard === "titled" ? title : undefined,
  };
  if (kind === "name") {
    return (
      <th scope="row" {...shown}>
        {content}
      </th>
    );
  }
  return <td {...shown}>{content}</td>;
}
