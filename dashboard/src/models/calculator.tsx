import { type ReactNode, useState } from "react";
import { count, usd } from "../format.ts";
import type { Model } from "../gateway.ts";
import { SelectField, TextField } from "../parts/form.tsx";
import { Amount, Card, Fact } from "../parts.tsx";
import { columnPrices, pricesOf, unitOf } from "./cost.ts";
import { type Estimate, estimate, NOUNS } from "./estimate.ts";

const DAYS = 30;
const DEFAULTS = { tokens: "10,000", characters: "1,000", images: "1", seconds: "60" } as const;

/** What a use of the model costs in 30 days. Each line multiplies out. */
export function Calculator({ model: { type, pricing } }: { model: Model }): ReactNode {
  const unit = unitOf(pricing);
  const labels = pricesOf(type, pricing).map(({ label }) => label);
  const [texts, setTexts] = useState({
    input: DEFAULTS[unit] as string,
    cached: "0",
    output: "1,000",
    requests: "100",
  });
  const [label, setLabel] = useState(labels[0]);
  const numbers = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, numberIn(text)])) as Record<
    keyof typeof texts,
    number | undefined
  >;
  const { input, cached, output, requests } = numbers;
  const isRead = input !== undefined && cached !== undefined && output !== undefined && requests !== undefined;
  const found = isRead ? estimate(type, pricing, { input, cached, output, label }) : undefined;
  const field = (name: keyof typeof texts, title: string): ReactNode => (
    <TextField
      label={title}
      error={numbers[name] === undefined ? "A whole number, such as 1000." : undefined}
      inputMode="numeric"
      text={texts[name]}
      set={(text) => setTexts({ ...texts, [name]: text })}
      onBlur={() => {
        const number = numbers[name];
        if (number !== undefined) setTexts({ ...texts, [name]: count(number) });
      }}
    />
  );
  const isText = type === "text";
  return (
    <Card title="Estimate cost">
      {field("input", `${unit === "tokens" ? "Input tokens" : NOUNS[unit]} per request`)}
      {isText && columnPrices(type, pricing, "cached").length > 0 ? field("cached", "Of these, cached") : null}
      {isText ? field("output", "Output tokens per request") : null}
      {unit === "images" && labels.length > 1 ? (
        <SelectField label="Size" value={label} options={labels.map((each) => [each, each])} set={setLabel} />
      ) : null}
      {field("requests", "Requests a day")}
      <Result found={found} requests={requests ?? 0} />
    </Card>
  );
}

function numberIn(text: string): number | undefined {
  const digits = text.replaceAll(/[ ,]/g, "");
  return /^\d{1,9}$/.test(digits) ? Number(digits) : undefined;
}

function Result({ found, requests }: { found: Estimate | undefined; requests: number }): ReactNode {
  const times = requests * DAYS;
  const one = found === undefined ? "" : usd(found.nanoUsd);
  const places = Math.max(...[one, ...(found?.lines ?? []).map(({ amount }) => amount)].map(decimalsOf));
  const aligned = (amount: string): string => amount + "0".repeat(places - decimalsOf(amount));
  return (
    <div className="estimate" aria-live="polite">
      <span className="label">{DAYS} days</span>
      <span className="figure">
        {found === undefined ? "–" : <Amount nanoUsd={BigInt(found.nanoUsd) * BigInt(times)} />}
      </span>
      {found === undefined ? null : (
        <dl className="facts right">
          {found.lines.map(({ text, amount }) => (
            <Fact key={text} name={text} value={aligned(amount)} />
          ))}
          <Fact name={<>One request{found.isRoundedUp ? ", rounded up" : ""}</>} value={aligned(one)} />
          <Fact name={`${count(requests)} requests × ${DAYS} days`} value={`× ${count(times)}`} />
        </dl>
      )}
    </div>
  );
}

function decimalsOf(amount: string): number {
  return amount.split(".")[1]?.length ?? 0;
}
