import { type ApiKey, changeKey, listKeys, revokeKey } from "@inference/sdk/keys";
import { readCredits } from "@inference/sdk/spending";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { fromNow, usd, when } from "../format.ts";
import { useStatus } from "../gateway.ts";
import { Amount, Badge, Card, Failure, Stat, Meter, Read } from "../parts.tsx";
import { useOwn } from "../wallet/session.ts";
import type { SignedIn } from "../wallet/wallet.ts";
import { ChangeLimit } from "./change-limit.tsx";
import { windowWords } from "./limit-window.tsx";
import { moreTermsWords } from "./more-terms.tsx";
import { RollKey } from "./roll-key.tsx";

/** The balance, and the wallet's keys. */
export function KeyList({ wallet }: { wallet: SignedIn }): ReactNode {
  const credits = useOwn(wallet, ["credits"], readCredits, 15_000);
  const keys = useOwn(wallet, ["keys"], listKeys, 15_000);
  return (
    <>
      <Read from={credits} what="balance">
        {(data) => (
          <Card title="Your balance">
            <Stat
              label="Left to spend"
              about={
                <>
                  <Amount nanoUsd={data.total_usage_nano_usd} /> was used of{" "}
                  <Amount nanoUsd={data.total_credits_nano_usd} />
                  {data.reserved_nano_usd === 0 ? "" : "; some is held for requests that run now"}.
                </>
              }
            >
              <Amount nanoUsd={data.available_nano_usd} />
            </Stat>
          </Card>
        )}
      </Read>
      <Card title="Your keys">
        <Read from={keys} what="keys">
          {(list) =>
            list.length === 0 ? (
              <p>You have none yet.</p>
            ) : (
              <ul className="lines">
                {list.map((key) => (
                  <li key={key.id}>
                    <KeyCard wallet={wallet} apiKey={key} availableNanoUsd={credits.data?.available_nano_usd} />
                  </li>
                ))}
              </ul>
            )
          }
        </Read>
      </Card>
    </>
  );
}

function KeyCard({ wallet, apiKey, availableNanoUsd }: KeyCardParts): ReactNode {
  const { id, name, label, disabled, limit_reset: reset, limit_nano_usd: limit, usage_nano_usd: used } = apiKey;
  const [open, setOpen] = useState<"limit" | "roll" | "revoke">();
  const queries = useQueryClient();
  const act = useMutation({
    mutationFn: (what: "toggle" | "revoke"): Promise<unknown> =>
      what === "revoke" ? revokeKey(wallet.reading, id) : changeKey(wallet.reading, id, { disabled: !disabled }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["own"] }),
  });
  const moreTerms = moreTermsWords(apiKey);
  const close = (): void => setOpen(undefined);
  const toggle = (which: typeof open) => setOpen(open === which ? undefined : which);
  const isOver = apiKey.expires_at !== null && Date.parse(apiKey.expires_at) <= Date.now();
  return (
    <section className="note" aria-label={`Key ${name || label}`}>
      <div className="row apart">
        <h3>
          {name || "Without a name"} <span className="mono quiet">{label}</span>
        </h3>
        <Badge kind={isOver || disabled ? "warn" : "good"}>{isOver ? "ended" : disabled ? "disabled" : "active"}</Badge>
      </div>
      {limit === null ? (
        <p>
          No limit. <Amount nanoUsd={used} /> used.
        </p>
      ) : (
        <>
          <Meter used={used + apiKey.reserved_nano_usd} whole={limit} />
          <p>
            <Amount nanoUsd={used} /> of {usd(limit)} {windowWords[reset ?? "lifetime"]}
            {apiKey.resets_at === null ? "" : `, resets ${fromNow(apiKey.resets_at)}`}
          </p>
        </>
      )}
      {moreTerms === "" ? null : <p>Also: {moreTerms}.</p>}
      <p className="small quiet">
        <Binds apiKey={apiKey} availableNanoUsd={availableNanoUsd} /> Made {when(apiKey.created_at)}.
        {apiKey.expires_at === null ? "" : ` ${isOver ? "Ended" : "Ends"} ${when(apiKey.expires_at)}.`}
      </p>
      <div className="row">
        <Opens is={open === "limit"} set={() => toggle("limit")} label="Change the limit" />
        <button type="button" className="little" disabled={act.isPending} onClick={() => act.mutate("toggle")}>
          {disabled ? "Switch on" : "Switch off"}
        </button>
        <Opens is={open === "roll"} set={() => toggle("roll")} label="Replace" />
        <Opens is={open === "revoke"} set={() => toggle("revoke")} label="Delete" isDanger />
      </div>
      {open === "limit" ? <ChangeLimit wallet={wallet} apiKey={apiKey} done={close} /> : null}
      {open === "roll" ? <RollKey wallet={wallet} apiKey={apiKey} done={close} /> : null}
      {open === "revoke" ? (
        <div className="row">
          <span>It stops working at once and for good.</span>
          <button type="button" className="little danger" disabled={act.isPending} onClick={() => act.mutate("revoke")}>
            Delete this key
          </button>
          <button type="button" className="little" onClick={close}>
            Keep it
          </button>
        </div>
      ) : null}
      {act.error === null ? null : <Failure error={act.error} />}
    </section>
  );
}
type KeyCardParts = { wallet: SignedIn; apiKey: ApiKey; availableNanoUsd: number | undefined };

function Opens({ is, set, label, isDanger = false }: OpensParts): ReactNode {
  return (
    <button type="button" className={`little ${isDanger ? "danger" : ""}`} aria-expanded={is} onClick={set}>
      {label}
    </button>
  );
}
type OpensParts = { is: boolean; set: () => void; label: string; isDanger?: boolean };

/** The tightest limit of a request: the key's, the balance, or the day's ceiling. */
function Binds({ apiKey, availableNanoUsd }: Pick<KeyCardParts, "apiKey" | "availableNanoUsd">): ReactNode {
  const status = useStatus();
  const left: [string, number | null | undefined, (number | undefined)?][] = [
    ["your balance", availableNanoUsd],
    ["this key's limit", apiKey.limit_remaining_nano_usd, apiKey.limit_nano_usd ?? undefined],
    ["today's limit for everybody", status.data?.ceiling.left_nano_usd],
  ];
  const known = left.filter((each): each is [string, number, number | undefined] => typeof each[1] === "number");
  const [first] = known.toSorted(([, one], [, other]) => one - other);
  if (first === undefined) return null;
  return (
    <>
      It is first stopped by {first[0]}, which leaves <Amount nanoUsd={first[1]} />.
    </>
  );
}
