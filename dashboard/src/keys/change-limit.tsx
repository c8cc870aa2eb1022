import { formatUsd, parseUsd } from "@inference/protocol/money";
import { type ApiKey, changeKey, otherDollarLimits, prepareKeyRequest } from "@inference/sdk/keys";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Failure, Field } from "../parts.tsx";
import type { SignedIn } from "../wallet/wallet.ts";
import { type LimitWindow, LimitWindows, resetTerm } from "./limit-window.tsx";
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
  const { id, limit_nano_usd: limit, limit_reset: reset } = apiKey;
  const current: LimitWindow = limit === null ? "none" : (reset ?? "lifetime");
  const [text, setText] = useState(limit === null ? "5.00" : formatUsd(limit));
  const [window, setWindow] = useState<LimitWindow>(current);
  const queries = useQueryClient();
  const over = (): void => {
    void queries.invalidateQueries({ queryKey: ["own"] });
    done();
  };
  const wanted = parseUsd(text.trim());
  const isLower = window === current && limit !== null && wanted !== undefined && wanted <= limit;
  const isValid = window === "none" || wanted !== undefined;
  const lower = useMutation({
    mutationFn: () => changeKey(wallet.reading, id, { limit: text.trim() }),
    onSuccess: over,
  });
  const prepare = useMutation({
    mutationFn: () => {
      const terms = {
        limit: window === "none" ? "none" : text.trim(),
        ...resetTerm(window),
        ...(window === "none" ? {} : otherDollarLimits(apiKey, window)),
      };
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
