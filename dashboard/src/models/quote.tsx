import { type ReactNode, useState } from "react";
import { usd } from "../format.ts";
import { useModels } from "../gateway.ts";
import { Card, Field, Read } from "../parts.tsx";
import { mostNanoUsd, type Unit, unitOf } from "./cost.ts";

const INPUT: Readonly<Record<Unit, string>> = {
  tokens: "Input tokens",
  characters: "Characters to be spoken",
  images: "Images",
  seconds: "Seconds of audio",
};

/** A form that shows the maximum cost of a request. */
export function QuoteBox(): ReactNode {
  const models = useModels();
  const [id, setId] = useState<string>();
  const [input, setInput] = useState("1000");
  const [output, setOutput] = useState("500");
  return (
    <Card title="What would it cost?">
      <Read from={models} what="prices">
        {(list) => {
          const model = list.find((each) => each.id === id) ?? list[0];
          if (model === undefined) return <p>No model is offered at the moment.</p>;
          const unit = unitOf(model.pricing);
          const amounts = [input, ...(unit === "tokens" ? [output] : ["0"])];
          const isWhole = amounts.every((text) => /^\d{1,9}$/.test(text));
          const most = isWhole
            ? mostNanoUsd(model.pricing, { input: Number(amounts[0] ?? 0), output: Number(amounts[1] ?? 0) })
            : undefined;
          return (
            <>
              <Field label="Model">
                {(props) => (
                  <select {...props} value={model.id} onChange={({ target }) => setId(target.value)}>
                    {list.map((each) => (
                      <option key={each.id} value={each.id}>
                        {each.display_name}
                      </option>
                    ))}
                  </select>
                )}
              </Field>
              <div className="fields">
                <Whole label={unit === "tokens" ? INPUT.tokens : INPUT[unit]} value={input} set={setInput} />
                {unit === "tokens" ? <Whole label="Output tokens" value={output} set={setOutput} /> : null}
              </div>
              <p aria-live="polite">
                {most === undefined ? (
                  <span className="quiet">Enter whole numbers.</span>
                ) : (
                  <>
                    costs at most <strong className="figure">{usd(most)}</strong>
                  </>
                )}
              </p>
              {unit === "tokens" ? (
                <p className="small quiet">A token is a piece of a word: 1,000 tokens are about 750 English words.</p>
              ) : null}
            </>
          );
        }}
      </Read>
    </Card>
  );
}

function Whole({ label, value, set }: { label: string; value: string; set(text: string): void }): ReactNode {
  return (
    <Field label={label}>
      {(props) => (
        <input {...props} inputMode="numeric" value={value} onChange={({ target }) => set(target.value.trim())} />
      )}
    </Field>
  );
}
