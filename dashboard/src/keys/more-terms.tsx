import { MODEL_PATTERN } from "@inference/protocol/model-pattern";
import type { ApiKey, KeyTerms } from "@inference/sdk/keys";
import type { ReactNode } from "react";
import { usd } from "../format.ts";
import { TextField } from "../parts/form.tsx";
import { windowWords } from "./key-sentence.ts";

const isCount = (text: string): boolean => /^\d{0,9}$/.test(text);
const modelsOf = (text: string): string[] => text.split(",").flatMap((model) => model.trim() || []);
const areModels = (text: string): boolean => modelsOf(text).every((model) => MODEL_PATTERN.test(model));

const COUNT = { about: "Empty: no limit.", isRight: isCount, wrong: "A whole number." };
const MODELS = {
  ...{ about: "Ids with commas between them, such as alder-4b, llama-*. Empty: any.", isRight: areModels },
  wrong: "Ids, with commas between them.",
};
const FIELDS = [
  { name: "requests_per_minute", label: "Requests a minute", ...COUNT },
  { name: "tokens_per_minute", label: "Tokens a minute", ...COUNT },
  { name: "models", label: "Models", ...MODELS },
] as const;
type FieldName = (typeof FIELDS)[number]["name"];

/** The terms of a key beside its first limit: empty texts for those that it does not have. */
export type MoreTerms = Record<FieldName, string> & { isPrivate: boolean };

export const NO_MORE_TERMS: MoreTerms = {
  ...{ requests_per_minute: "", tokens_per_minute: "", models: "", isPrivate: false },
};

/** Closed at first, because most keys do without them. */
export function MoreTermFields({ form, set }: MoreTermParts): ReactNode {
  const problems = problemsOfMore(form);
  return (
    <details open={Object.keys(problems).length > 0 || undefined}>
      <summary>
        Advanced <span className="hint plain-weight">models, requests and tokens a minute, privacy</span>
      </summary>
      <div className="fields">
        {FIELDS.map(({ name, label, about }) => (
          <TextField
            key={name}
            {...{ label, about }}
            error={problems[name]}
            text={form[name]}
            set={(text) => set({ [name]: text })}
          />
        ))}
      </div>
      <label>
        <input type="checkbox" checked={form.isPrivate} onChange={({ target }) => set({ isPrivate: target.checked })} />{" "}
        Only models that the provider calls private
      </label>
    </details>
  );
}
type MoreTermParts = { form: MoreTerms; set: (change: Partial<MoreTerms>) => void };

export function termsOfMore({ isPrivate, ...texts }: MoreTerms): KeyTerms {
  const named = { ...texts, models: modelsOf(texts.models).join(",") };
  const kept = FIELDS.flatMap(({ name }) => (named[name].trim() === "" ? [] : [[name, named[name].trim()] as const]));
  return { ...Object.fromEntries(kept), ...(isPrivate ? { private: "true" } : {}) };
}

export function problemsOfMore(form: MoreTerms): Partial<Record<FieldName, string>> {
  const wrong = FIELDS.filter(({ name, isRight }) => !isRight(form[name].trim()));
  return Object.fromEntries(wrong.map((field) => [field.name, field.wrong]));
}

/** A key's terms beside its first limit in dollars, in words; empty if it has none. */
export function moreTermsWords({ limits, models, private: isPrivate, limit_reset: reset }: ApiKey): string {
  const first = `limit_${reset ?? "lifetime"}`;
  const words = limits.flatMap(({ name, unit, limit, remaining }) => {
    if (unit !== "nano_usd") return `${limit} ${unit} a minute`;
    return name === first
      ? []
      : `${usd(remaining)} left of ${usd(limit)} ${windowWords[name.replace("limit_", "") as keyof typeof windowWords]}`;
  });
  if (models !== null) words.push(`models ${models.join(", ")}`);
  if (isPrivate) words.push("private models only");
  return words.join("; ");
}
