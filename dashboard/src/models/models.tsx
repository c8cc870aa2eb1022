import { type ReactNode, useState } from "react";
import { count } from "../format.ts";
import { type Model, useModels } from "../gateway.ts";
import { type Column, Table } from "../parts/table.tsx";
import { Badge, Card, Field, Head, Read } from "../parts.tsx";
import { priceCell, pricesOf, shownPrice, unitOf } from "./cost.ts";
import { QuoteBox } from "./quote.tsx";

const TYPES: Readonly<Record<string, string>> = {
  text: "Chat and text",
  embedding: "Embeddings",
  tts: "Speech",
  asr: "Transcription",
  image: "Images",
  inpaint: "Image edits",
  upscale: "Upscaling",
};

export default function Models(): ReactNode {
  const models = useModels();
  const [search, setSearch] = useState("");
  return (
    <>
      <Head title="Models and prices">
        No subscription. You pay the provider's list price, with no markup. Every price that can apply to a request is
        listed under its model.
      </Head>
      <div className="two">
        <div className="stack">
          <Field label="Find a model">
            {(props) => (
              <input {...props} type="search" value={search} onChange={({ target }) => setSearch(target.value)} />
            )}
          </Field>
          <Read from={models} what="models">
            {(list) => {
              const found = list.filter(({ id, display_name: name }) =>
                `${id} ${name}`.toLowerCase().includes(search.trim().toLowerCase()),
              );
              if (found.length === 0) return <p role="status">No model has this in its name.</p>;
              return [...Map.groupBy(found, ({ type }) => type)].map(([type, group]) => (
                <Group key={type} title={TYPES[type] ?? type} models={group} />
              ));
            }}
          </Read>
        </div>
        <QuoteBox />
      </div>
    </>
  );
}

function Group({ title, models }: { title: string; models: readonly Model[] }): ReactNode {
  const unit = models[0] === undefined ? "tokens" : unitOf(models[0].pricing);
  const columns = COLUMNS[unit];
  const named = new Set(models.flatMap(({ type, pricing }) => pricesOf(type, pricing).map(({ of }) => of)));
  return (
    <Card title={title}>
      <Table
        label={`Table of ${title}`}
        caption={columns.caption}
        rows={models}
        keyOf={({ id }) => id}
        columns={[
          { title: "Model", cell: (model) => <Name {...model} /> },
          ...columns.prices
            .filter(([, name]) => named.has(name))
            .map(
              ([title, name]): Column<Model> => ({
                ...{ title, kind: "number" },
                cell: ({ type, pricing }) => priceCell(pricesOf(type, pricing).filter(({ of }) => of === name)) ?? "–",
              }),
            ),
          ...(unit === "tokens" ? [CONTEXT_WINDOW] : []),
        ]}
      />
    </Card>
  );
}

function Name({ id, display_name: name, type, pricing, features }: Model): ReactNode {
  const prices = pricesOf(type, pricing);
  const isInColumns = new Set(prices.map(({ of }) => of)).size === prices.length;
  return (
    <>
      <strong>{name}</strong>
      {name === id ? null : <div className="mono quiet wrap">{id}</div>}
      <Features {...features} />
      {isInColumns ? null : (
        <details className="small">
          <summary>All prices</summary>
          <ul className="lines">
            {prices.map((price) => (
              <li key={price.label} className="row apart">
                <span>{price.label}</span>
                <span className="number">{shownPrice(price)}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

/** The facts to know before a choice: where requests go, and whether the model stays. */
function Features(features: NonNullable<Model["features"]>): ReactNode {
  const { privacy, quantization, region_restrictions: regions = [], removes_at: removal } = features;
  const { replacement_model: next } = features;
  const facts = [
    ...(privacy === undefined ? [] : [privacy]),
    ...(quantization === undefined ? [] : [quantization]),
    ...(regions.length === 0 ? [] : [`not from ${regions.join(", ")}`]),
  ];
  return (
    <>
      {facts.length === 0 ? null : <div className="small quiet wrap">{facts.join(" · ")}</div>}
      {removal === undefined ? null : (
        <Badge kind="warn">
          ends {removal.slice(0, 10)}
          {next === undefined ? "" : `: use ${next}`}
        </Badge>
      )}
    </>
  );
}

const CONTEXT_WINDOW: Column<Model> = {
  title: "Context window",
  kind: "number",
  cell: ({ context_length: tokens }) => (tokens === null ? "–" : count(tokens)),
};

const COLUMNS = {
  tokens: {
    caption: "Dollars for a million tokens",
    prices: [
      ["Input", "prompt"],
      ["Output", "completion"],
    ],
  },
  characters: { caption: "Dollars for a million characters", prices: [["Characters", "character"]] },
  images: { caption: "Dollars for an image", prices: [["Image", "image"]] },
  seconds: { caption: "Dollars for an hour of audio", prices: [["Audio", "second"]] },
} as const;
