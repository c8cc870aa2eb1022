import { formatUsd, parseUsd } from "@inference/protocol/money";
import { changedTerms, dollarLimits } from "@inference/sdk/dollar-limits";
import { type ApiKey, changeKey, prepareKeyRequest } from "@inference/sdk/keys";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { usd } from "../format.ts";
import { Failure, Field } from "../parts.tsx";
import type { SignedIn } from "../wallet/wallet.ts";
import { windowWords } from "./key-sentence.ts";
import { type LimitWindow, LimitWindows } from "./limit-window.tsx";
import { SignedText } from "./signed-text.tsx";

/** A lower limit needs the session alone. Everything else is signed. */
export function ChangeLimit({
  wallet,
  apiKey,
  done,
}: {
  wallet: SignedIn;
  apiKey: ApiKey;
  done: () => void;
}): ReactNode {
  const { id } = apiKey;
  const limits = dollarLimits(apiKey);
  const [which, setWhich] = useState(limits[0]?.window);
  // The list is read again, also while this is open.
  const chosen = limits.find((one) => one.window === which);
  const current = chosen?.window ?? "none";
  const [text, setText] = useState(chosen === undefined ? "5.00" : formatUsd(chosen.limit));
  const [window, setWindow] = useState<LimitWindow>(current);
  const queries = useQueryClient();
  const over = (): void => {
    void queries.invalidateQueries({ queryKey: ["own"] });
    done();
  };
  const wanted = parseUsd(text.trim());
  const isLower = chosen !== undefined && window === current && wanted !== undefined && wanted <= chosen.limit;
  const isValid = window === "none" || wanted !== undefined;
  const lower = useMutation({
    mutationFn: () =>
      changeKey(wallet.reading, id, { [chosen === limits[0] ? "limit" : `limit_${current}`]: text.trim() }),
    onSuccess: over,
  });
  const prepare = useMutation({
    mutationFn: () => {
      const terms = changedTerms(limits, chosen, window, text.trim());
      return prepareKeyRequest<{ data: ApiKey }>(wallet.acting, { type: "terms", keyId: id, terms });
    },
  });
  if (prepare.data !== undefined) {
    return (
      <>
        <SignedText prepared={prepare.data} done={over} again={() => prepare.mutate()} />
        <p>
          <button type="button" className="plain" onClick={() => prepare.reset()}>
            Back
          </button>
        </p>
      </>
    );
  }
  return (
    <form
      className="stack tight"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isValid) return;
        if (isLower) lower.mutate();
        else prepare.mutate();
      }}
    >
      <div className="fields">
        {limits.length < 2 ? null : (
          <Field label="Which limit">
            {(props) => (
              <select
                {...props}
                value={current}
                onChange={({ target }) => {
                  const chosen = limits.find((one) => one.window === target.value);
                  if (chosen === undefined) return;
                  setWhich(chosen.window);
                  setText(formatUsd(chosen.limit));
                  setWindow(chosen.window);
                }}
              >
                {limits.map((one) => (
                  <option key={one.window} value={one.window}>
                    {usd(one.limit)} {windowWords[one.window]}
                  </option>
                ))}
              </select>
            )}
          </Field>
        )}
        <Field label="New limit">
          {(props) => (
            <select {...props} value={window} onChange={({ target }) => setWindow(target.value as LimitWindow)}>
              <LimitWindows />
            </select>
          )}
        </Field>
        {window === "none" ? null : (
          <Field label="Dollars" error={isValid ? undefined : "An amount in dollars, such as 5.00."}>
            {(props) => (
              <input {...props} inputMode="decimal" value={text} onChange={({ target }) => setText(target.value)} />
            )}
          </Field>
        )}
      </div>
      <p>
        <button type="submit" className="first" disabled={!isValid || lower.isPending || prepare.isPending}>
          {isLower ? "Set it: lower needs no signature" : "Next: see what you sign"}
        </button>
      </p>
      {lower.error === null ? null : <Failure error={lower.error} />}
      {prepare.error === null ? null : <Failure error={prepare.error} />}
    </form>
  );
}
