import { type ReactNode, useId } from "react";
import type { Model } from "../gateway.ts";
import { Segments } from "../parts/form.tsx";
import { CAPABILITIES, CONTEXTS, can, type Filters, inputPrices, KINDS } from "./catalogue.ts";
import { exactUsd } from "./cost.ts";

/** The filters of the page, with the number of models beside each. */
export function FilterForm({ models, filters, set }: FilterFormParts): ReactNode {
  const kinds = KINDS.filter(({ type }) => models.some((model) => model.type === type));
  const isShown = (type: string): boolean => filters.types.length === 0 || filters.types.includes(type);
  const toggleType = (type: string): void => {
    const types = kinds.map((kind) => kind.type).filter((each) => isShown(each) !== (each === type));
    set({ types: types.length === kinds.length ? [] : types });
  };
  return (
    <div className="filters">
      <Checks
        title="Type"
        options={kinds.map(({ type, title }) => ({
          ...{ id: type, title, isOn: isShown(type), toggle: () => toggleType(type) },
          found: models.filter((model) => model.type === type).length,
        }))}
      />
      <Checks
        title="Capability"
        options={CAPABILITIES.map(([id, title]) => {
          const { capabilities } = filters;
          const isOn = capabilities.includes(id);
          const toggle = (): void =>
            set({ capabilities: isOn ? capabilities.filter((each) => each !== id) : [...capabilities, id] });
          return { id, title, isOn, toggle, found: models.filter((model) => can(model, id)).length };
        })}
      />
      <div className="stack tight">
        <strong>Context, at least</strong>
        <Segments
          label="Context, at least"
          value={String(filters.minContext) as (typeof CONTEXTS)[number][0]}
          options={CONTEXTS}
          set={(value) => set({ minContext: Number(value) })}
        />
      </div>
      <MostInput {...{ models, filters, set }} />
    </div>
  );
}
type FilterFormParts = { models: readonly Model[]; filters: Filters; set: (change: Partial<Filters>) => void };

type Check = { id: string; title: string; isOn: boolean; toggle: () => void; found: number };

function Checks({ title, options }: { title: string; options: readonly Check[] }): ReactNode {
  return (
    <fieldset className="checks">
      <legend>{title}</legend>
      {options.map(({ id, title: text, isOn, toggle, found }) => (
        <label key={id}>
          <input type="checkbox" checked={isOn} onChange={toggle} />
          <span>{text}</span>
          <span className="hint">{found}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** A slider over the input prices that exist; its right end is any price. */
function MostInput({ models, filters: { mostInput }, set }: FilterFormParts): ReactNode {
  const id = useId();
  const prices = inputPrices(models);
  if (prices.length < 2) return null;
  const found = mostInput === null ? -1 : prices.findLastIndex((price) => price <= mostInput);
  const at = found === -1 || found === prices.length - 1 ? prices.length - 1 : found;
  const chosen = at === prices.length - 1 ? undefined : prices[at];
  return (
    <div className="stack tight">
      <strong id={id}>Input price, at most</strong>
      <input
        type="range"
        aria-labelledby={id}
        aria-valuetext={chosen === undefined ? "Any" : `${exactUsd(chosen)} per 1M tokens`}
        min={0}
        max={prices.length - 1}
        value={at}
        onChange={({ target }) => {
          const price = prices[Number(target.value)];
          set({ mostInput: Number(target.value) === prices.length - 1 ? null : (price ?? null) });
        }}
      />
      <div className="row apart hint">
        <span>{exactUsd(prices[0] ?? 0n)}</span>
        <span>{chosen === undefined ? "Any" : `${exactUsd(chosen)} per 1M tokens`}</span>
      </div>
    </div>
  );
}
