import type { ReactNode } from "react";

export type Column<T> = {
  title: string;
  cell: (row: T) => ReactNode;
  /** `number`: aligned to the right. `name`: the heading of the row. */
  kind?: "number" | "name" | undefined;
  className?: string | undefined;
  /** The full text of a shortened cell. */
  whole?: (row: T) => string | undefined;
};

/** A table that scrolls on narrow screens, also by keyboard. */
export function Table<T>({ label, caption, columns, rows, keyOf }: TableParts<T>): ReactNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it the keyboard cannot reach what is cut off
    <section className="scroll" aria-label={label} tabIndex={0}>
      <table>
        {caption === undefined ? null : <caption>{caption}</caption>}
        <thead>
          <tr>
            {columns.map(({ title, kind }) => (
              <th key={title} scope="col" className={kind === "number" ? "number" : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <Cell key={column.title} column={column} row={row} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

type TableParts<T> = {
  label: string;
  caption?: ReactNode;
  columns: readonly Column<T>[];
  rows: readonly T[];
  keyOf: (row: T) => string | number;
};

function Cell<T>({ column: { kind, className, cell, whole }, row }: { column: Column<T>; row: T }): ReactNode {
  if (kind === "name") return <th scope="row">{cell(row)}</th>;
  return (
    <td className={kind === "number" ? "number" : className} title={whole?.(row)}>
      {cell(row)}
    </td>
  );
}
