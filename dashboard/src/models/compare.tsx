import { ArrowLeft } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { count } from "../format.ts";
import { type Model, useModels } from "../gateway.ts";
import { type Column, Table } from "../parts/table.tsx";
import { ButtonLink, Card, Head, Read } from "../parts.tsx";
import { pathTo } from "../route.ts";
import { ABILITIES, can, KINDS } from "./catalogue.ts";
import { pricesOf, shownPrice } from "./cost.ts";
import { privacyFacts } from "./facts.tsx";

/** Up to four models side by side. */
export function Compare({ ids }: { ids: readonly string[] }): ReactNode {
  const models = useModels();
  return (
    <>
      <Head
        title="Compare models"
        side={<ButtonLink icon={ArrowLeft} text="All models" href={pathTo("models", "", { marked: ids.join(",") })} />}
      />
      <Read from={models} what="models" height={440}>
        {(list) => <Compared models={ids.flatMap((id) => list.find((model) => model.id === id) ?? [])} />}
      </Read>
    </>
  );
}

type Row = [name: string, cell: (model: Model) => ReactNode];

function Compared({ models }: { models: readonly Model[] }): ReactNode {
  const prices = new Map(models.map((model) => [model.id, pricesOf(model.type, model.pricing)]));
  const names = new Set([...prices.values()].flatMap((list) => list.map(({ label }) => label)));
  const privacy = new Map(models.map((model) => [model.id, new Map(privacyFacts(model))]));
  const rows: Row[] = [
    ["Type", ({ type }) => KINDS.find((kind) => kind.type === type)?.title ?? type],
    ["Prices", ({ type }) => KINDS.find((kind) => kind.type === type)?.unit ?? ""],
    ...[...names].map(
      (label): Row => [
        label,
        ({ id }) => {
          const price = prices.get(id)?.find((each) => each.label === label);
          return price === undefined ? "–" : shownPrice(price);
        },
      ],
    ),
    ["Context", ({ context_length: tokens }) => (tokens === null ? "–" : count(tokens))],
    ["Max output", ({ max_tokens: tokens }) => (tokens === null ? "–" : count(tokens))],
    ...ABILITIES.map(([capability, title]): Row => [title, (model) => (can(model, capability) ? "Yes" : "–")]),
    ...["Provider", "Quantization", "Served until"].map((name): Row => [name, ({ id }) => privacy.get(id)?.get(name)]),
  ];
  return (
    <Card title={`${models.length} models`} isFlush className="compared">
      <Table
        label="Table of the compared models"
        rows={rows}
        keyOf={([title]) => title}
        columns={[
          { title: "", kind: "name", cell: ([title]) => title },
          ...models.map(
            (model): Column<Row> => ({
              ...{ title: model.id, kind: "number", cell: ([, cell]) => cell(model) },
              head: <Link href={pathTo("models", model.id)}>{model.display_name}</Link>,
            }),
          ),
        ]}
      />
    </Card>
  );
}
