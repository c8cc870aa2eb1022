import { MODEL_PATTERN } from "@inference/protocol/model-pattern";
import type { ApiKey, KeyTerms } from "@inference/sdk/keys";
import type { ReactNode } from "react";
import { usd } from "../format.ts";
import { TextField } from "../parts/form.tsx";
import { windowWords } from "./key-sentence.ts";

/** The terms of a key beside its first limit: empty texts for those that it does not have. */
export type MoreTerms = { requests: string; tokens: string; models: string; isPrivate: boolean };

export const NO_MORE_TERMS: MoreTerms = { requests: "", tokens: "", models: "", isPrivate: false };

const texts = [
  { name: "requests", label: "Requests a minute", about: "Empty: no limit." },
  { name: "tokens", label: "Tokens a minute", about: "Empty: no limit." },
  { name: "models", label: "Models", about: "Ids with commas between them, such as alder-4b, llama-*. Empty: any." },
] as const;

/** Closed at first, because most keys do without them. */
export function MoreTermFields({ form, set, problems }: MoreTermParts): ReactNode {
  return (
    <details open={Object.keys(problemsOfMore(form)).length > 0 || undefined}>
      <summary>
        Advanced <span className="hint plain-weight">models, requests and tokens a minute, privacy</span>
      </summary>
      <div className="fields">
        {texts.map(({ name, label, about }) => (
          <TextField
            key={name}
            label={label}
            about={about}
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
type MoreTermParts = {
  form: MoreTerms;
  set: (change: Partial<MoreTerms>) => void;
  problems: Partial<Record<keyof MoreTerms, string>>;
};

export function termsOfMore({ requests, tokens, models, isPrivate }: MoreTerms): KeyTerms {
  const named = modelsOf(models).join(",");
  return {
    ...(requests.trim() === "" ? {} : { requests_per_minute: requests.trim() }),
    ...(tokens.trim() === "" ? {} : { tokens_per_minute: tokens.trim() }),
    ...(named === "" ? {} : { models: named }),
    ...(isPrivate ? { private: "true" } : {}),
  };
}

export function problemsOfMore({ requests, tokens, models }: MoreTerms): Partial<Record<keyof MoreTerms, string>> {
  const problems: Partial<Record<keyof MoreTerms, string>> = {};
  const isCount = (text: string): boolean => /^\d{0,9}$/.test(text.trim());
  if (!isCount(requests)) problems.requests = "A whole number.";
  if (!isCount(tokens)) problems.tokens = "A whole number.";
  if (!modelsOf(models).every((model) => MODEL_PATTERN.test(model))) problems.models = "Ids, with commas between them.";
  return problems;
}

function modelsOf(text: string): string[] {
  return text.split(",").flatMap((model) => (model.trim() === "" ? [] : [model.trim()]));
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
