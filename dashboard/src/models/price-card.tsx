import type { ReactNode } from "react";
import { count } from "../format.ts";
import type { Model } from "../gateway.ts";
import { type Column, Table } from "../parts/table.tsx";
import { KINDS } from "./catalogue.ts";
import { type ListedPrice, pricesOf, shownPrice, unitOf } from "./cost.ts";

/** Every price of a model, and the rule of its tiers. */
export function PriceCard({ model: { type, pricing } }: { model: Model }): ReactNode {
  const prices = pricesOf(type, pricing);
  const unit = KINDS.find((kind) => kind.type === type)?.unit ?? "";
  const [above = null] = prices.flatMap(({ aboveTokens }) => aboveTokens ?? []);
  return (
    <section className="card flush" aria-label="Price">
      <div className="card-head row">
        <h2>Price</h2> <span className="hint">{unit}</span>
      </div>
      {unitOf(pricing) === "tokens" ? <Tokens {...{ prices, above }} /> : <Others {...{ prices }} />}
      <ul className="card-foot hint">
        {notes({ type, prices, above }).map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
    </section>
  );
}

type TokensParts = { prices: readonly ListedPrice[]; above: number | null };

function Tokens({ prices, above }: TokensParts): ReactNode {
  const columns = COLUMNS.filter((label) => prices.some((price) => price.label.startsWith(label)));
  return (
    <Table
      label="Table of prices"
      rows={above === null ? [null] : [null, above]}
      keyOf={(tier) => tier ?? 0}
      asCards
      columns={[
        {
          title: "Input of the request",
          kind: "name",
          inCard: "whole",
          cell: (tier) =>
            above === null ? "Any length" : `${tier === null ? "Up to" : "Above"} ${count(above)} tokens`,
        },
        ...columns.map(
          (label): Column<number | null> => ({
            title: label === "Input written to the cache" ? "Cache write" : label,
            kind: "number",
            inCard: "titled",
            cell: (tier) => {
              const price = prices.find((each) => each.aboveTokens === tier && isOf(each, label));
              return price === undefined ? "–" : shownPrice(price);
            },
          }),
        ),
      ]}
    />
  );
}

function isOf(price: ListedPrice, label: string): boolean {
  return price.label === label || price.label.startsWith(`${label} above`);
}

const COLUMNS = ["Input", "Cached input", "Input written to the cache", "Output"] as const;

function Others({ prices }: { prices: readonly ListedPrice[] }): ReactNode {
  return (
    <Table
      label="Table of prices"
      rows={prices}
      keyOf={({ label }) => label}
      columns={[
        { title: prices[0]?.of === "image" ? "Size" : "Unit", kind: "name", cell: ({ label }) => label },
        { title: "Price", kind: "number", cell: shownPrice },
      ]}
    />
  );
}

function notes({ type, prices, above }: TokensParts & { type: string }): string[] {
  const isText = type === "text";
  const has = (label: string): boolean => prices.some((price) => price.label.startsWith(label));
  return [
    ...(above === null
      ? []
      : [`Above ${count(above)} input tokens, the second line applies to all tokens of the request.`]),
    ...(isText && !has("Cached input") ? ["Cached input costs the same as input."] : []),
    ...(isText && has("Cached input") ? ["The provider decides which input it reads from its cache."] : []),
    ...(isText ? ["Reasoning counts as output."] : []),
    ...(type === "embedding" ? ["An embedding has no output tokens."] : []),
    "The provider's list price. No markup.",
  ];
}
