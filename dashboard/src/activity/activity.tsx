import { DAY_MS, utcDay } from "@inference/protocol/window";
import { useMutation } from "@tanstack/react-query";
import { Download, ListFilter } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useLocation } from "wouter";
import { count, day } from "../format.ts";
import { useStatus } from "../gateway.ts";
import { Chart } from "../parts/chart.tsx";
import { Segments, SelectField, TextField } from "../parts/form.tsx";
import { Menu } from "../parts/menu.tsx";
import { stackOf } from "../parts/stack.ts";
import { Amount, Button, Card, Empty, Failure, Head, Read, Stat } from "../parts.tsx";
import { pathTo, useRoute } from "../route.ts";
import { NeedsAccount } from "../wallet/account-gate.tsx";
import type { Session } from "../wallet/session.ts";
import { downloadReceipts } from "./download.ts";
import { ReceiptPanel } from "./receipt.tsx";
import { ReceiptTable } from "./receipt-table.tsx";
import { type Filter, GROUPS, grouped, RANGES, type Range, rangeOf, rowsIn, type SpendRow, sumOf } from "./spend.ts";
import { useKeyNames, useSpend } from "./use-spend.ts";

const ALL_RANGES: typeof RANGES = [...RANGES, ["custom", "Custom"]];

/** What was spent, on what, and the receipt of each request. */
export default function Activity(): ReactNode {
  const { rest } = useRoute();
  const [ids, setIds] = useState<readonly string[]>([]);
  return (
    <NeedsAccount why="To show what your keys spent.">
      {(session) => (
        <div className={rest === "" ? "activity" : "activity with-panel"}>
          <div className="list">
            <Own session={session} listed={setIds} />
          </div>
          {rest === "" ? null : <ReceiptPanel key={rest} session={session} id={rest} ids={ids} />}
        </div>
      )}
    </NeedsAccount>
  );
}

/** The choices are in the address, so that a link shows the same. */
function useChoices() {
  const { rest, query } = useRoute();
  const [, go] = useLocation();
  const choices = Object.fromEntries(query) as Record<string, string>;
  const change = (changed: Readonly<Record<string, string | undefined>>): void => {
    const all = Object.entries({ ...choices, ...changed });
    const kept = Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== undefined));
    go(pathTo("activity", rest, kept), { replace: true });
  };
  const name = ALL_RANGES.find(([each]) => each === query.get("range"))?.[0] ?? "30d";
  const by = GROUPS.find(([each]) => each === query.get("by"))?.[0] ?? "model";
  const filter: Filter = {
    model: query.get("model") ?? undefined,
    key_id: query.get("key_id") ?? undefined,
    tag: query.get("tag") ?? undefined,
  };
  return { name, by, filter, custom: { from: choices.from, to: choices.to }, change };
}
type Choices = ReturnType<typeof useChoices>;

const isDay = (text: string | undefined): text is string =>
  text !== undefined && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));

type OwnParts = { session: Session; listed: (ids: readonly string[]) => void };

function Own({ session, listed }: OwnParts): ReactNode {
  const choices = useChoices();
  const status = useStatus();
  return (
    <Read from={status} what="activity" height={600}>
      {({ time }) => {
        const today = time.slice(0, 10);
        const { from, to } = choices.custom;
        const custom = { from: isDay(from) ? from : today, to: isDay(to) ? to : today };
        const isTurned = custom.from > custom.to;
        return (
          <Shown
            session={session}
            listed={listed}
            choices={choices}
            range={rangeOf(choices.name, time, isTurned ? { from: custom.to, to: custom.from } : custom)}
          />
        );
      }}
    </Read>
  );
}

type ShownParts = OwnParts & { choices: Choices; range: Range };

function Shown({ session, listed, choices, range }: ShownParts): ReactNode {
  const rows = useSpend(session, range);
  const nameOfKey = useKeyNames(session);
  const { name, by, filter, change } = choices;
  return (
    <>
      <Head title="Activity" side={<Export {...{ session, range, filter }} />} />
      <div className="row">
        <Segments
          label="Range"
          value={name}
          options={ALL_RANGES}
          set={(chosen) =>
            change({ range: chosen, ...(chosen === "custom" ? { from: range.from, to: range.to } : NO_DAYS) })
          }
        />
        <Segments label="Group by" value={by} options={GROUPS} set={(chosen) => change({ by: chosen })} />
        <Filters {...{ choices, nameOfKey }} rows={rows.data ?? []} />
      </div>
      {name === "custom" ? <Days range={range} change={change} /> : null}
      <Read from={rows} what="spend" height={420}>
        {(all) => <Spend {...{ range, choices, nameOfKey }} rows={rowsIn(all, range, filter)} />}
      </Read>
      <ReceiptTable {...{ session, range, filter, nameOfKey, listed }} />
    </>
  );
}

const NO_DAYS = { from: undefined, to: undefined };

function Days({ range, change }: { range: Range; change: Choices["change"] }): ReactNode {
  return (
    <div className="row">
      {(["from", "to"] as const).map((end) => (
        <TextField
          key={end}
          label={end === "from" ? "First day" : "Last day"}
          type="date"
          text={range[end]}
          set={(text) => isDay(text) && change({ [end]: text })}
        />
      ))}
    </div>
  );
}

function Spend({ range, choices, nameOfKey, rows }: SpendParts): ReactNode {
  const { by, change } = choices;
  const stack = stackOf(grouped(rows, by, nameOfKey), range.bars);
  const { requests } = sumOf(rows);
  const words = range.from === range.to ? day(range.from) : `${day(range.from)} to ${day(range.to)}`;
  if (requests === 0) {
    return (
      <Card title="Spend">
        <Empty
          action={
            <Button
              text="Widen to 90 days"
              act={() => change({ range: "custom", from: utcDay(Date.parse(range.to) - 89 * DAY_MS), to: range.to })}
            />
          }
        >
          No requests from {words}.
        </Empty>
      </Card>
    );
  }
  return (
    <section className="card" aria-label="Spend">
      <div className="row figures">
        <Stat label={`Spend, ${words}`}>
          <Amount nanoUsd={stack.nanoUsd} />
        </Stat>
        <Stat label="Requests">{count(requests)}</Stat>
      </div>
      <Chart label={`Spend by ${range.by} and ${by}`} stack={stack} sums />
    </section>
  );
}
type SpendParts = {
  range: Range;
  choices: Choices;
  nameOfKey: (id: string | null) => string;
  rows: readonly SpendRow[];
};

type FilterParts = { choices: Choices; nameOfKey: (id: string | null) => string; rows: readonly SpendRow[] };

/** Only what the range has can be chosen. */
function Filters({ choices: { filter, change }, nameOfKey, rows }: FilterParts): ReactNode {
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const [isOpen, open] = useState(isFiltered);
  const valuesOf = (value: (row: SpendRow) => string | null, chosen: string | undefined): string[] => {
    const found = [...rows.map(value), chosen ?? null].filter((each): each is string => each !== null);
    return [...new Set(found)].toSorted();
  };
  const fields = [
    { field: "model", label: "Model", values: valuesOf(({ model }) => model, filter.model) },
    { field: "key_id", label: "Key", values: valuesOf(({ keyId }) => keyId, filter.key_id) },
    { field: "tag", label: "Tag", values: valuesOf(({ tag }) => tag, filter.tag) },
  ] as const;
  return (
    <>
      <Button icon={ListFilter} text="Filter" className="little" aria-expanded={isOpen} act={() => open(!isOpen)} />
      {isFiltered ? (
        <Button
          text="Clear filters"
          className="plain little"
          act={() => change({ model: undefined, key_id: undefined, tag: undefined })}
        />
      ) : null}
      {isOpen ? (
        <div className="fields filters">
          {fields.map(({ field, label, values }) => (
            <SelectField
              key={field}
              label={label}
              value={filter[field] ?? ""}
              options={[
                ["", "All"],
                ...values.map((value) => [value, field === "key_id" ? nameOfKey(value) : value] as const),
              ]}
              set={(value) => change({ [field]: value === "" ? undefined : value })}
            />
          ))}
        </div>
      ) : null}
    </>
  );
}

function Export({ session, range, filter }: { session: Session; range: Range; filter: Filter }): ReactNode {
  const download = useMutation({
    mutationFn: (format: "csv" | "json") =>
      downloadReceipts(session.token, { from: range.from, to: range.to, ...filter }, format),
  });
  return (
    <>
      <Failure error={download.error} />
      <Menu
        button={
          <button type="button" disabled={download.isPending}>
            <Download />
            {download.isPending ? "Reading …" : "Export"}
          </button>
        }
        about={<span className="hint">All receipts of these days, with the filters</span>}
        entries={[
          { text: "Receipts as CSV", act: () => download.mutate("csv") },
          { text: "Receipts as JSON", act: () => download.mutate("json") },
        ]}
      />
    </>
  );
}
