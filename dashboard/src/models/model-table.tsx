import { ArrowDown, ArrowUp } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { count } from "../format.ts";
import type { Model } from "../gateway.ts";
import { Badge, Button, CopyButton } from "../parts.tsx";
import { pathTo } from "../route.ts";
import { ABILITIES, can, type Filters, KINDS, MOST_MARKED, type SortBy } from "./catalogue.ts";
import { cellOf, columnPrices, type PriceColumn } from "./cost.ts";

const COLUMNS: readonly (readonly [SortBy, string])[] = [
  ["context", "Context"],
  ["input", "Input"],
  ["cached", "Cached input"],
  ["output", "Output"],
];

type TableParts = { list: readonly Model[]; filters: Filters; set: (change: Partial<Filters>) => void };

/** All models in one table, grouped by kind. Below 720 px each is a card. */
export function ModelTable({ list, filters, set }: TableParts): ReactNode {
  const sort = (by: SortBy): void => {
    set({ sort: by, isDescending: filters.sort === by ? !filters.isDescending : by === "context" });
  };
  const heading = (by: SortBy, title: string, isNumber = true): ReactNode => {
    const isSorted = filters.sort === by;
    return (
      <th
        key={by}
        scope="col"
        className={isNumber ? "number" : undefined}
        aria-sort={isSorted ? (filters.isDescending ? "descending" : "ascending") : undefined}
      >
        <Button
          text={title}
          {...(isSorted ? { icon: filters.isDescending ? ArrowDown : ArrowUp } : {})}
          className="sort"
          act={() => sort(by)}
        />
      </th>
    );
  };
  return (
    <section
      className="card flush scroll models"
      aria-label="Table of models"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: without it the keyboard cannot reach what is cut off
      tabIndex={0}
    >
      <table>
        <thead>
          <tr>
            <td />
            {heading("name", "Model", false)}
            <th scope="col">Capabilities</th>
            {COLUMNS.map(([by, title]) => heading(by, title))}
            <td />
          </tr>
        </thead>
        {KINDS.map(({ type, title, unit }) => {
          const group = list.filter((model) => model.type === type);
          if (group.length === 0) return null;
          return (
            <tbody key={type}>
              <tr className="group">
                <td />
                <th scope="rowgroup" colSpan={7}>
                  {title}
                  <span>, {unit}</span>
                </th>
              </tr>
              {group.map((model) => (
                <Row key={model.id} {...{ model, filters, set }} />
              ))}
            </tbody>
          );
        })}
      </table>
    </section>
  );
}

type RowParts = { model: Model; filters: Filters; set: (change: Partial<Filters>) => void };

function Row({ model, filters: { marked }, set }: RowParts): ReactNode {
  const { id, display_name: name, context_length: context, alias_of: original } = model;
  const isMarked = marked.includes(id);
  return (
    <tr className={isMarked ? "selected" : undefined}>
      <td className="mark">
        <input
          type="checkbox"
          aria-label={`Compare ${id}`}
          checked={isMarked}
          disabled={!isMarked && marked.length >= MOST_MARKED}
          onChange={() => set({ marked: isMarked ? marked.filter((each) => each !== id) : [...marked, id] })}
        />
      </td>
      <th scope="row" className="name">
        <Link href={pathTo("models", id)}>{name}</Link>
        {name === id ? null : <span className="mono quiet wrap id">{id}</span>}
        {original === undefined ? null : <span className="hint id">another name of {original}</span>}
        <Removal model={model} />
      </th>
      <td className="abilities">
        <span className="icons">
          {ABILITIES.map(([capability, title, Icon]) => (
            <span key={capability} title={can(model, capability) ? title : undefined}>
              {can(model, capability) ? (
                <>
                  <Icon />
                  <span className="hidden">{title}</span>
                </>
              ) : null}
            </span>
          ))}
        </span>
      </td>
      <td className="number context" data-title="Context">
        {context === null ? "–" : count(context)}
      </td>
      <Price model={model} column="input" title="Input" />
      <Price model={model} column="cached" title="Cached input" />
      <Price model={model} column="output" title="Output" />
      <td className="copy">
        <CopyButton text={id} label={`Copy the id ${id}`} isIcon />
      </td>
    </tr>
  );
}

function Price({ model, column, title }: { model: Model; column: PriceColumn; title: string }): ReactNode {
  const cell = cellOf(columnPrices(model.type, model.pricing, column));
  return (
    <td className={`number price ${column}`} data-title={title}>
      {cell?.isFrom ? <span className="quiet">from </span> : null}
      {cell?.price ?? "–"}
    </td>
  );
}

/** When a model ends, and the one in its place. */
function Removal({ model: { features } }: { model: Model }): ReactNode {
  const { removes_at: at, replacement_model: next } = features ?? {};
  if (at === undefined) return null;
  return (
    <Badge kind="warn">
      ends {at.slice(0, 10)}
      {next === undefined ? "" : `: use ${next}`}
    </Badge>
  );
}

/** What the icons stand for. */
export function CapabilityKey(): ReactNode {
  return (
    <span className="row">
      {ABILITIES.map(([capability, title, Icon]) => (
        <span key={capability} className="icon-word">
          <Icon /> {title}
        </span>
      ))}
    </span>
  );
}
