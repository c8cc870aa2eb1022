import { parseDecimal } from "@inference/protocol/money";
import { DAY_MS, dayNumber } from "@inference/protocol/window";
import type { KeyTerms, NewApiKey } from "@inference/sdk/keys";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useLocation } from "wouter";
import { useCredits, useKeys } from "../account.ts";
import { now } from "../clock.ts";
import { CodeBlock } from "../parts/code.tsx";
import { Segments, TextField } from "../parts/form.tsx";
import { Amount, Fact } from "../parts.tsx";
import type { SignedIn } from "../wallet/wallet.ts";
import { keySentence } from "./key-sentence.ts";
import { type LimitWindow, WINDOWS } from "./limit-window.ts";
import { MoreTermFields, type MoreTerms, NO_MORE_TERMS, problemsOfMore, termsOfMore } from "./more-terms.tsx";
import { NewKey } from "./new-key.tsx";
import { Sign } from "./sign.tsx";

type Expiry = "never" | "30" | "90" | "other";
type Form = MoreTerms & { name: string; limit: string; window: LimitWindow; expiry: Expiry; days: string };

const EMPTY: Form = { ...NO_MORE_TERMS, name: "", limit: "5.00", window: "monthly", expiry: "never", days: "" };

const EXPIRIES: readonly (readonly [Expiry, string])[] = [
  ["never", "Never"],
  ["30", "30 days"],
  ["90", "90 days"],
  ["other", "Other"],
];

/** One form beside the sentence that says what is created, and the new key, shown once. */
export function CreateKey({ wallet }: { wallet: SignedIn }): ReactNode {
  const [form, setForm] = useState(EMPTY);
  const [made, setMade] = useState<NewApiKey>();
  const [, go] = useLocation();
  const queries = useQueryClient();
  const keys = useKeys(wallet);
  const set = (change: Partial<Form>): void => setForm({ ...form, ...change });
  const problems = problemsOf(form);
  if (keys.data?.some(({ name }) => name !== "" && name === form.name.trim()) === true) {
    problems.name = `You have a key named ${form.name.trim()}.`;
  }
  if (made !== undefined) return <NewKey made={made} done={() => go("/keys")} />;
  const done = (key: NewApiKey): void => {
    setMade(key);
    void queries.invalidateQueries({ queryKey: ["own"] });
  };
  return (
    <div className="create-key">
      <div className="stack">
        <TextField
          label="Name"
          about="The program that uses it."
          error={problems.name}
          placeholder="laptop"
          text={form.name}
          set={(text) => set({ name: text })}
        />
        <div className="row">
          {form.window === "none" ? null : (
            <TextField
              inputMode="decimal"
              label="Limit, in dollars"
              error={problems.limit}
              text={form.limit}
              set={(limit) => set({ limit })}
            />
          )}
          <div className="field">
            <span aria-hidden="true">{form.window === "none" ? "Limit" : " "}</span>
            <Segments label="Limit" value={form.window} options={WINDOWS} set={(window) => set({ window })} />
          </div>
        </div>
        <p className="hint">A request that could pass the limit is refused before it starts.</p>
        <div className="field">
          <strong>Expires</strong>
          <div className="row">
            <Segments label="Expires" value={form.expiry} options={EXPIRIES} set={(expiry) => set({ expiry })} />
          </div>
        </div>
        {form.expiry === "other" ? (
          <TextField
            label="Days until it expires"
            error={problems.days}
            inputMode="numeric"
            text={form.days}
            set={(text) => set({ days: text })}
          />
        ) : null}
        <MoreTermFields form={form} set={set} />
      </div>
      <Summary {...{ wallet, form, done }} isValid={Object.keys(problems).length === 0} />
    </div>
  );
}

function Summary({ wallet, form, isValid, done }: SummaryParts): ReactNode {
  const credits = useCredits(wallet);
  const { window } = form;
  return (
    <aside className="stack summary">
      <section className="card" aria-labelledby="creates">
        <span className="label">You create</span>
        <h2 id="creates" className="sentence" tabIndex={-1}>
          {keySentence(termsOf(form))}
        </h2>
        <dl className="facts right">
          {window === "none" || window === "lifetime" ? null : (
            <Fact name="Limit resets">{window === "daily" ? "each day" : "1st of the month"}, 00:00 UTC</Fact>
          )}
          <Fact name="Pays from">
            balance {credits.data === undefined ? "" : <Amount nanoUsd={credits.data.available_nano_usd} />}
          </Fact>
        </dl>
        <Sign
          {...{ wallet, isValid, done }}
          asked={{ type: "create", terms: termsOf(form) }}
          text="Sign and create key"
          about={<p className="hint">Free, without gas. The key is shown once.</p>}
        />
      </section>
      {isValid ? <CodeBlock label="The same in a terminal" text={commandOf(form)} /> : null}
    </aside>
  );
}
type SummaryParts = { wallet: SignedIn; form: Form; isValid: boolean; done: (made: NewApiKey) => void };

function daysOf({ expiry, days }: Form): string {
  return expiry === "never" ? "" : expiry === "other" ? days.trim() : expiry;
}

/** When the key expires: at 00:00 UTC, so that the text stays the same while it is read; null: never. */
function endOf(form: Form): Date | null {
  const days = Number(daysOf(form));
  if (!(days > 0 && days < 10_000)) return null;
  return new Date((dayNumber(now()) + days) * DAY_MS);
}

function termsOf(form: Form): KeyTerms {
  const { name, limit, window, expiry: _, days: __, ...more } = form;
  const end = endOf(form);
  return {
    ...(name.trim() === "" ? {} : { name: name.trim() }),
    ...(window === "none" ? {} : { limit: limit.trim() }),
    ...(window === "none" || window === "lifetime" ? {} : { limit_reset: window }),
    ...termsOfMore(more),
    ...(end === null ? {} : { expires_at: `${end.toISOString().slice(0, 19)}Z` }),
  };
}

function commandOf(form: Form): string {
  const { name, limit, limit_reset: reset, expires_at: expires, ...more } = termsOf(form);
  const { requests_per_minute: requests, tokens_per_minute: tokens, models } = more;
  const named = {
    limit,
    reset,
    requests,
    tokens,
    models: models && `"${models}"`,
    private: more.private && "",
    expires,
  };
  const options = Object.entries(named).flatMap(([option, value]) =>
    value === undefined ? [] : `--${option} ${value}`.trim(),
  );
  const quoted = name === undefined ? "" : ` ${/^[\w.-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`}`;
  return [`infer keys create${quoted}`, ...options.map((option) => `  ${option}`)].join(" \\\n");
}

function problemsOf(form: Form): Partial<Record<keyof Form, string>> {
  const { name, limit, window, expiry, days, ...more } = form;
  const problems: Partial<Record<keyof Form, string>> = problemsOfMore(more);
  if (name.trim().length > 64) problems.name = "At most 64 characters.";
  if (window !== "none" && parseDecimal(limit.trim(), 9) === undefined) {
    problems.limit = "An amount in dollars, such as 5.00.";
  }
  if (expiry === "other" && !/^[1-9]\d{0,3}$/.test(days.trim())) problems.days = "A whole number of days, up to 9999.";
  return problems;
}
