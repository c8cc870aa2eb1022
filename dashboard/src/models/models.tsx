import { type ReactNode, useState } from "react";
import { count } from "../format.ts";
import { type Model, useModels } from "../gateway.ts";
import { Card, Field, Head, Read, Scroll } from "../parts.tsx";
import { shownPrice, unitOf } from "./cost.ts";
import { QuoteBox } from "./quote.tsx";

const TYPES: Readonly<Record<string, string>> = {
  text: "Chat and text",
  embedding: "Embeddings",
  tts: "Speech",
  image: "Images",
};

export function Models(): ReactNode {
  const models = useModels();
  const [search, setSearch] = useState("");
  return (
    <>
      <Head title="Models and prices">
        You pay the provider's list price, with nothing added. A request never costs more than its price here times what
        it used.
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
  return (
    <Card title={title}>
      <Scroll label={`Table of ${title}`}>
        <table>
          <caption>{columns.caption}</caption>
          <thead>
            <tr>
              <th scope="col">Model</th>
              {columns.prices.map(([label]) => (
                <th key={label} scope="col" className="number">
                  {label}
                </th>
              ))}
              {unit === "tokens" ? (
                <th scope="col" className="number">
                  Longest text
                </th>
              ) : null}
            </tr>
          </thead>
          <tbody>
            {models.map((model) => (
              <tr key={model.id}>
                <td>
                  <strong>{model.display_name}</strong>
                  {model.display_name === model.id ? null : <div className="mono quiet wrap">{model.id}</div>}
                </td>
                {columns.prices.map(([label, name]) => (
                  <td key={label} className="number">
                    {shownPrice(model.pricing, name) ?? "–"}
                  </td>
                ))}
                {unit === "tokens" ? (
                  <td className="number">{model.context_length === null ? "–" : count(model.context_length)}</td>
                ) : null}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Card>
  );
}

const COLUMNS = {
  tokens: {
    caption: "Dollars for a million tokens",
    prices: [
      ["Sent", "prompt"],
      ["Answered", "completion"],
    ],
  },
  characters: { caption: "Dollars for a million characters", prices: [["Spoken", "character"]] },
  images: { caption: "Dollars for an image of the dearest size", prices: [["Image", "image"]] },
} as const;
