import { parseDecimal } from "@inference/protocol/money";
import { type KeyTerms, type NewApiKey, prepareKeyRequest } from "@inference/sdk/keys";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Card, Failure, Field } from "../parts.tsx";
import type { Wallet } from "../wallet/wallet.ts";
import { type LimitWindow, LimitWindows, resetTerm } from "./limit-window.tsx";
import { MoreTermFields, type MoreTerms, NO_MORE_TERMS, problemsOfMore, termsOfMore } from "./more-terms.tsx";
import { NewKey } from "./new-key.tsx";
import { SignedText } from "./signed-text.tsx";

type Form = MoreTerms & { name: string; limit: string; window: LimitWindow; days: string };

const EMPTY: Form = { ...NO_MORE_TERMS, name: "", limit: "5.00", window: "monthly", days: "" };

/** A form for a key's terms, the text to sign, and the new key, shown once. */
export function CreateKey({ wallet }: { wallet: Wallet }): ReactNode {
  const [form, setForm] = useState(EMPTY);
  const [terms, setTerms] = useState<KeyTerms>();
  const [made, setMade] = useState<NewApiKey>();
  const queries = useQueryClient();
  const problems = problemsOf(form);
  const set = (change: Partial<Form>): void => setForm({ ...form, ...change });
  if (made !== undefined) return <NewKey made={made} done={() => setMade(undefined)} />;
  if (terms !== undefined) {
    return (
      <ToSign
        wallet={wallet}
        terms={terms}
        back={() => setTerms(undefined)}
        done={(key) => {
          setTerms(undefined);
          setForm(EMPTY);
          setMade(key);
          void queries.invalidateQueries({ queryKey: ["own"] });
        }}
      />
    );
  }
  return (
    <Card title="Make a key">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (Object.keys(problems).length === 0) setTerms(termsOf(form));
        }}
      >
        <div className="fields">
          <Field label="Name" about="Which program it is for." error={problems.name}>
            {(props) => (
              <input
                {...props}
                autoComplete="off"
                value={form.name}
                placeholder="laptop"
                onChange={({ target }) => set({ name: target.value })}
              />
            )}
          </Field>
          <Field label="Limit">
            {(props) => (
              <select
                {...props}
                value={form.window}
                onChange={({ target }) => set({ window: target.value as LimitWindow })}
              >
                <LimitWindows />
              </select>
            )}
          </Field>
          {form.window === "none" ? null : (
            <Field label="Dollars" error={problems.limit}>
              {(props) => (
                <input
                  {...props}
                  inputMode="decimal"
                  autoComplete="off"
                  value={form.limit}
                  onChange={({ target }) => set({ limit: target.value })}
                />
              )}
            </Field>
          )}
          <Field label="Ends after days" about="Empty: it does not end." error={problems.days}>
            {(props) => (
              <input
                {...props}
                inputMode="numeric"
                autoComplete="off"
                value={form.days}
                onChange={({ target }) => set({ days: target.value })}
              />
            )}
          </Field>
        </div>
        <MoreTermFields form={form} set={set} problems={problems} />
        <p>
          <button type="submit" className="first">
            Next: see what you sign
          </button>
        </p>
      </form>
    </Card>
  );
}

function ToSign({ wallet, terms, back, done }: ToSignParts): ReactNode {
  const prepared = useQuery({
    queryKey: ["key-message", wallet.address, terms],
    queryFn: () => prepareKeyRequest(wallet.acting, { type: "create", terms }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  return (
    <Card title="This is what you sign">
      {prepared.error === null ? null : <Failure error={prepared.error} again={() => void prepared.refetch()} />}
      {prepared.data === undefined ? null : (
        <SignedText prepared={prepared.data} done={done} again={() => void prepared.refetch()} />
      )}
      <p>
        <button type="button" className="plain" onClick={back}>
          Back
        </button>
      </p>
    </Card>
  );
}
type ToSignParts = { wallet: Wallet; terms: KeyTerms; back: () => void; done: (made: NewApiKey) => void };

function termsOf({ name, limit, window, days, ...more }: Form): KeyTerms {
  const endsAt = new Date(Date.now() + Number(days) * 86_400_000);
  return {
    ...(name.trim() === "" ? {} : { name: name.trim() }),
    ...(window === "none" ? {} : { limit: limit.trim() }),
    ...resetTerm(window),
    ...termsOfMore(more),
    ...(days.trim() === "" ? {} : { expires_at: `${endsAt.toISOString().slice(0, 19)}Z` }),
  };
}

function problemsOf({ name, limit, window, days, ...more }: Form): Partial<Record<keyof Form, string>> {
  const problems: Partial<Record<keyof Form, string>> = problemsOfMore(more);
  if (name.trim().length > 64) problems.name = "At most 64 characters.";
  if (window !== "none" && parseDecimal(limit.trim(), 9) === undefined) {
    problems.limit = "An amount in dollars, such as 5.00.";
  }
  if (days.trim() !== "" && !/^[1-9]\d{0,3}$/.test(days.trim())) problems.days = "A whole number of days, up to 9999.";
  return problems;
}
