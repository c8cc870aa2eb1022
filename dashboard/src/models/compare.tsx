import { ArrowLeft } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { count } from "../format.ts";
import { type Model, useModels } from "../gateway.ts";
import { ButtonLink, Card, Head, Read } from "../parts.tsx";
import { pathTo } from "../route.ts";
import { CAPABILITIES, can, KINDS } from "./catalogue.ts";
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
        {(list) => <Table models={ids.flatMap((id) => list.find((model) => model.id === id) ?? [])} />}
      </Read>
    </>
  );
}

function Table({ models }: { models: readonly Model[] }): ReactNode {
  const prices = new Map(models.map((model) => [model.id, pricesOf(model.type, model.pricing)]));
  const names = new Set([...prices.values()].flatMap((list) => list.map(({ label }) => label)));
  const privacy = new Map(models.map((model) => [model.id, new Map(privacyFacts(model))]));
  const rows: [string, (model: Model) => ReactNode][] = [
    ["Type", ({ type }) => KINDS.find((kind) => kind.type === type)?.title ?? type],
    ["Prices", ({ type }) => KINDS.find((kind) => kind.type === type)?.unit ?? ""],
    ...[...names].map((label): [string, (model: Model) => ReactNode] => [
      label,
      ({ id }) => {
        const price = prices.get(id)?.find((each) => each.label === label);
        return price === undefined ? "–" : shownPrice(price);
      },
    ]),
    ["Context", ({ context_length: tokens }) => (tokens === null ? "–" : count(tokens))],
    ["Max output", ({ max_tokens: tokens }) => (tokens === null ? "–" : count(tokens))],
    ...CAPABILITIES.slice(0, 3).map(([capability, title]): [string, (model: Model) => ReactNode] => [
      title,
      (model) => (can(model, capability) ? "Yes" : "–"),
    ]),
    ...["Provider", "Quantization", "Served until"].map((name): [string, (model: Model) => ReactNode] => [
      name,
      ({ id }) => privacy.get(id)?.get(name),
    ]),
  ];
  return (
    <Card title={`${models.length} models`} isFlush>
      <section
        className="scroll"
        aria-label="Table of the compared models"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: without it the keyboard cannot reach what is cut off
        tabIndex={0}
      >
        <table className="compared">
          <thead>
            <tr>
              <td />
              {models.map(({ id, display_name: name }) => (
                <th key={id} scope="col" className="number">
                  <Link href={pathTo("models", id)}>{name}</Link>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(([title, cell]) => (
              <tr key={title}>
                <th scope="row">{title}</th>
                {models.map((model) => (
                  <td key={model.id} className="number">
                    {cell(model)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Card>
  );
}
