import { formatUsd, parseUsd } from "@inference/protocol/money";
import { changedTerms, dollarLimits } from "@inference/sdk/dollar-limits";
import { type ApiKey, changeKey, prepareKeyRequest } from "@inference/sdk/keys";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { usd } from "../format.ts";
import { Form, SelectField, TextField } from "../parts/form.tsx";
import { Button, Failure } from "../parts.tsx";
import { useChange } from "../wallet/session.ts";
import type { SignedIn } from "../wallet/wallet.ts";
import { windowWords } from "./key-sentence.ts";
import { type LimitWindow, WINDOWS } from "./limit-window.ts";
import { SignedText } from "./signed-text.tsx";

type ChangeParts = { wallet: SignedIn; apiKey: ApiKey; done: () => void };

/** A lower limit needs the session alone. Everything else is signed. */
export function ChangeLimit({ wallet, apiKey, done }: ChangeParts): ReactNode {
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
  const lower = useChange(
    wallet,
    (reading) => changeKey(reading, id, { [chosen === limits[0] ? "limit" : `limit_${current}`]: text.trim() }),
    done,
  );
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
          <Button text="Back" className="plain" act={() => prepare.reset()} />
        </p>
      </>
    );
  }
  return (
    <Form
      className="stack tight"
      submit={() => {
        if (!isValid) return;
        if (isLower) lower.mutate();
        else prepare.mutate();
      }}
    >
      <div className="fields">
        {limits.length < 2 ? null : (
          <SelectField
            label="Which limit"
            value={current}
            options={limits.map((one) => [one.window, `${usd(one.limit)} ${windowWords[one.window]}`])}
            set={(chosen) => {
              const one = limits.find((each) => each.window === chosen);
              if (one === undefined) return;
              setWhich(one.window);
              setText(formatUsd(one.limit));
              setWindow(one.window);
            }}
          />
        )}
        <SelectField label="New limit" value={window} options={WINDOWS} set={setWindow} />
        {window === "none" ? null : (
          <TextField
            label="Dollars"
            error={isValid ? undefined : "An amount in dollars, such as 5.00."}
            inputMode="decimal"
            text={text}
            set={setText}
          />
        )}
      </div>
      <p>
        <Button
          text={isLower ? "Set it: lower needs no signature" : "Next: see what you sign"}
          className="first"
          disabled={!isValid || lower.isPending || prepare.isPending}
        />
      </p>
      <Failure error={lower.error} />
      <Failure error={prepare.error} />
    </Form>
  );
}
