import { Check, Search, SlidersHorizontal } from "lucide-react";
import { type ReactNode, useState } from "react";
import { navigate } from "wouter/use-browser-location";
import { useModels } from "../gateway.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Segments } from "../parts/form.tsx";
import { Button, Empty, Head, Read } from "../parts.tsx";
import { pathTo, useRoute } from "../route.ts";
import { type Filters, filtersOf, find, MOST_MARKED, queryOf, type SortBy } from "./catalogue.ts";
import { Compare } from "./compare.tsx";
import { FilterForm } from "./filter-form.tsx";
import { ModelPage } from "./model.tsx";
import { CapabilityKey, ModelTable } from "./model-table.tsx";

/** `/models` lists and compares models, `/models/{id}` is the page of one. */
export default function Models(): ReactNode {
  const { rest, query } = useRoute();
  if (rest !== "") return <ModelPage id={rest} />;
  const compared = (query.get("compare") ?? "").split(",").filter((id) => id !== "");
  return compared.length === 0 ? <Catalogue /> : <Compare ids={compared.slice(0, MOST_MARKED)} />;
}

function Catalogue(): ReactNode {
  const models = useModels();
  const filters = filtersOf(useRoute().query);
  const [isOpen, setOpen] = useState(false);
  const set = (change: Partial<Filters>): void => {
    navigate(pathTo("models", "", queryOf({ ...filters, ...change })), { replace: true });
  };
  const form = (list: NonNullable<typeof models.data>) => <FilterForm models={list} filters={filters} set={set} />;
  const used = Object.keys(queryOf(filters)).filter((name) => !["q", "sort", "marked"].includes(name)).length;
  return (
    <>
      <Head
        title={
          <>Models {models.data === undefined ? null : <span className="hint-title">{models.data.length}</span>}</>
        }
      />
      <div className="catalogue">
        <div className="stack">
          <div className="search-field">
            <Search />
            <input
              type="search"
              aria-label="Find a model"
              placeholder="Find a model"
              value={filters.search}
              onChange={({ target }) => set({ search: target.value })}
            />
          </div>
          <div className="only-phone row">
            <Button
              icon={SlidersHorizontal}
              text={`Filters${used === 0 ? "" : ` (${used})`}`}
              act={() => setOpen(true)}
            />
            <Segments<SortBy>
              label="Sort by"
              value={filters.sort}
              options={[
                ["context", "Context"],
                ["input", "Input price"],
                ["name", "Name"],
              ]}
              set={(sort) => set({ sort, isDescending: sort === "context" })}
            />
          </div>
          <div className="only-wide">{models.data === undefined ? null : form(models.data)}</div>
        </div>
        <div className="stack">
          <Read from={models} what="models" height={440}>
            {(list) => <Found list={find(list, filters)} {...{ filters, set }} readAtMs={models.dataUpdatedAt} />}
          </Read>
        </div>
      </div>
      {isOpen && models.data !== undefined ? (
        <Dialog title="Filters" className="sheet" close={() => setOpen(false)}>
          {form(models.data)}
          <Button
            icon={Check}
            text={`Show ${find(models.data, filters).length} models`}
            className="first"
            act={() => setOpen(false)}
          />
        </Dialog>
      ) : null}
      {filters.marked.length === 0 ? null : (
        <section className="compare-bar" aria-label="Compare">
          <span className="wrap">{filters.marked.join(", ")}</span>
          <Button text="Clear" className="plain" act={() => set({ marked: [] })} />
          <Button
            text={`Compare ${filters.marked.length}`}
            className="first"
            act={() => navigate(pathTo("models", "", { compare: filters.marked.join(",") }))}
          />
        </section>
      )}
    </>
  );
}

type FoundParts = {
  list: ReturnType<typeof find>;
  filters: Filters;
  set: (change: Partial<Filters>) => void;
  readAtMs: number;
};

function Found({ list, filters, set, readAtMs }: FoundParts): ReactNode {
  if (list.length === 0) {
    return (
      <Empty action={<Button text="Clear filters" act={() => navigate(pathTo("models"), { replace: true })} />}>
        No model fits these filters.
      </Empty>
    );
  }
  const minutes = Math.floor((Date.now() - readAtMs) / 60_000);
  return (
    <>
      <ModelTable {...{ list, filters, set }} />
      <div className="row apart hint">
        <CapabilityKey />
        <span>
          The provider's list prices in dollars, read {minutes === 0 ? "now" : `${minutes} min ago`}. No markup.
        </span>
      </div>
    </>
  );
}
