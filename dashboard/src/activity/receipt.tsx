import type { Receipt } from "@inference/sdk/spending";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Download, ShieldCheck, X } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { Link } from "wouter";
import { useReceipt } from "../account.ts";
import { count, shortHex, when } from "../format.ts";
import { gatewayRequest } from "../gateway.ts";
import { Amount, Badge, CopyButton, Failure, Read, Stat } from "../parts.tsx";
import { pathTo, useRoute } from "../route.ts";
import { Findings } from "../verify/findings.tsx";
import type { Session } from "../wallet/session.ts";
import { save } from "./download.ts";
import { priceLines } from "./price-lines.ts";
import { useKeyNames } from "./use-spend.ts";

/** All data of one request: what it cost and why, and what became of the charge. */
export function ReceiptPanel({ session, id }: { session: Session; id: string }): ReactNode {
  const { query } = useRoute();
  const receipt = useReceipt(session, id);
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => title.current?.focus(), []);
  return (
    <section className="panel" aria-labelledby="receipt-title">
      <div className="row apart bar">
        <div className="row">
          <h2 id="receipt-title" ref={title} tabIndex={-1}>
            Receipt
          </h2>
          <span className="mono" title={id}>
            {`${id.slice(0, 8)}…${id.slice(-4)}`}
          </span>
          <CopyButton text={id} label="Copy the receipt's id" isIcon />
        </div>
        <Link
          href={pathTo("activity", "", Object.fromEntries(query))}
          className="button plain little"
          aria-label="Close the receipt"
        >
          <X aria-hidden="true" />
        </Link>
      </div>
      <Read from={receipt} what="receipt" height={480}>
        {(data) => (
          <>
            <Charge session={session} receipt={data} />
            <Facts receipt={data} />
            <Settlement session={session} receipt={data} />
          </>
        )}
      </Read>
    </section>
  );
}

type Status = NonNullable<Receipt["settlement"]>["status"];

const STATES: Readonly<Record<Status, [kind: string, word: string, about: string]>> = {
  pending: ["", "Pending", "The charge is in no transaction yet."],
  posted: ["half", "Posted", "The charge is in a block that is not final yet."],
  final: ["good", "Confirmed", "The charge is in a final block."],
};

function Charge({ session, receipt }: { session: Session; receipt: Receipt }): ReactNode {
  const nameOfKey = useKeyNames(session);
  const { settlement, model, key_id: key, created_at: at } = receipt;
  const [kind, word] = settlement === null ? [] : STATES[settlement.status];
  return (
    <div className="stack part">
      <div className="row apart top-aligned">
        <Stat label="Charge" about={BASIS[receipt.basis]}>
          <Amount nanoUsd={receipt.charge_nano_usd} />
        </Stat>
        {word === undefined ? null : <span className={`state ${kind}`}>{word}</span>}
      </div>
      <p className="hint wrap">
        {model ?? "A request"} with {key === null ? "a session" : `key ${nameOfKey(key)}`}, {when(at)} UTC
      </p>
      <Lines receipt={receipt} />
    </div>
  );
}

const BASIS: Readonly<Record<Receipt["basis"], string>> = {
  nothing: "Nothing was charged",
  usage: "The provider's count, times the price",
  flat: "The price of what came",
  delivered: "The answer broke off: what had come by then",
  hold: "The most that it could have cost",
  record: "From the provider's own record",
  checkpoint: "What had been delivered when it was interrupted",
};

type Prices = { data: readonly { id: string; pricing: Readonly<Record<string, unknown>> }[] };

/** The price lines, if the charge is their sum. The prices are those of the receipt's snapshot. */
function Lines({ receipt }: { receipt: Receipt }): ReactNode {
  const { price_snapshot: snapshot, model } = receipt;
  const prices = useQuery({
    queryKey: ["prices", snapshot],
    queryFn: () => gatewayRequest<Prices>(`/api/v1/prices/${snapshot}`),
    enabled: snapshot !== null,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const pricing = prices.data?.data.find(({ id }) => id === model)?.pricing;
  const lines = pricing === undefined ? null : priceLines(receipt, pricing);
  if (lines === null) return null;
  return (
    <table className="small">
      <thead>
        <tr>
          <th scope="col">Price line</th>
          <th scope="col" className="number">
            Tokens
          </th>
          <th scope="col" className="number">
            per 1M
          </th>
          <th scope="col" className="number">
            Amount
          </th>
        </tr>
      </thead>
      <tbody>
        {lines.map(({ title, quantity, price, amount }) => (
          <tr key={title}>
            <td>{title}</td>
            <td className="number">{count(quantity)}</td>
            <td className="number">× {price}</td>
            <td className="number">{amount}</td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row" colSpan={3}>
            Charge
          </th>
          <td className="number">
            <strong>
              <Amount nanoUsd={receipt.charge_nano_usd} />
            </strong>
          </td>
        </tr>
      </tfoot>
    </table>
  );
}

function Facts({ receipt }: { receipt: Receipt }): ReactNode {
  const { tag, generation_time: ms, streamed, cancelled, rebate_nano_usd: rebate } = receipt;
  const { tokens_prompt: input, tokens_completion: output, native_tokens_reasoning: reasoning } = receipt;
  return (
    <dl className="facts right part">
      <dt>Reserved before the request</dt>
      <dd>
        <Amount nanoUsd={receipt.held_nano_usd} />
      </dd>
      <dt>Input, output</dt>
      <dd>
        {input === null ? "–" : `${count(input)}, ${count(output ?? 0)}`}
        {reasoning === null || reasoning === 0 ? "" : ` (${count(reasoning)} reasoning)`}
      </dd>
      <dt>Took</dt>
      <dd>
        {ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`}
        {streamed === true ? ", streamed" : ""}
        {cancelled ? ", stopped by the client" : ""}
      </dd>
      {tag === null ? null : (
        <>
          <dt>Tag</dt>
          <dd>{tag}</dd>
        </>
      )}
      <dt>Served by</dt>
      <dd>
        <ServedBy by={receipt.served_by} />
      </dd>
      {rebate === 0 ? null : (
        <>
          <dt>Rebate, 10% in tokens</dt>
          <dd>
            <Amount nanoUsd={rebate} />
          </dd>
        </>
      )}
    </dl>
  );
}

function ServedBy({ by }: { by: string | null }): ReactNode {
  if (by === null) return "your own capacity";
  if (by === "protocol") return "the service";
  return (
    <Badge kind="good">
      agent <Link href={pathTo("agents", by)}>{shortHex(by)}</Link>
    </Badge>
  );
}

function Settlement({ session, receipt }: { session: Session; receipt: Receipt }): ReactNode {
  const { id, settlement } = receipt;
  const checking = useMutation({
    mutationFn: async () => {
      const { checkReceipt } = await import("../verify/check-receipt.ts");
      return checkReceipt(session.reading, { account: session.address, id, node: "the service's node" });
    },
  });
  if (settlement === null) {
    return <p className="part quiet">Nothing was charged to your balance, so there is nothing to settle.</p>;
  }
  const { statement, leaf, proof, record } = settlement;
  const [, word, about] = STATES[settlement.status];
  const saveProof = (): void =>
    save(`proof of ${id}.json`, "application/json", JSON.stringify({ statement, leaf, proof, record }, null, 2));
  return (
    <div className="stack part">
      <div>
        <h3>{word}</h3>
        <p className="quiet">{about}</p>
      </div>
      <dl className="facts">
        <dt>Statement</dt>
        <dd>
          {statement === null ? (
            "none yet"
          ) : (
            <>
              <Amount nanoUsd={statement.before_nano_usd} /> to <Amount nanoUsd={statement.after_nano_usd} /> of all
              that the account was charged
            </>
          )}
        </dd>
        <dt>Chunk</dt>
        <dd className="mono">{record === null ? "none yet" : shortHex(record.chunk.root)}</dd>
        <dt>Transaction</dt>
        <dd className="mono">
          {record === null ? "none yet" : shortHex(record.chunk.transaction)}
          {record === null ? null : <CopyButton text={record.chunk.transaction} label="Copy the hash" isIcon />}
        </dd>
      </dl>
      <div aria-live="polite">
        {checking.data === undefined ? null : (
          <>
            <Verdict outcomes={checking.data.map(({ outcome }) => outcome)} />
            <details>
              <summary>The checks</summary>
              <Findings findings={checking.data} />
            </details>
          </>
        )}
      </div>
      {checking.error === null ? null : <Failure error={checking.error} />}
      {record === null ? null : (
        <div className="row">
          <button type="button" className="little" disabled={checking.isPending} onClick={() => checking.mutate()}>
            <ShieldCheck aria-hidden="true" />
            {checking.isPending ? "Checking …" : checking.data === undefined ? "Verify this" : "Verify again"}
          </button>
          <button type="button" className="plain little" onClick={saveProof}>
            <Download aria-hidden="true" />
            Proof as JSON
          </button>
          <Link className="button plain little" href={pathTo("verify", "", { receipt: id })}>
            Check with your own node
          </Link>
        </div>
      )}
    </div>
  );
}

function Verdict({ outcomes }: { outcomes: readonly ("pass" | "fail" | "skipped")[] }): ReactNode {
  const of = (wanted: string): number => outcomes.filter((outcome) => outcome === wanted).length;
  const [passed, failed, skipped] = [of("pass"), of("fail"), of("skipped")];
  return (
    <p>
      <span className={`state ${failed > 0 ? "bad" : skipped > 0 ? "" : "good"}`}>
        {passed} of {passed + failed} checks passed{skipped > 0 ? `, ${skipped} not checked` : ""}.
      </span>{" "}
      {failed === 0 && skipped === 0 ? "This charge is in the total that the contract debited." : ""}
    </p>
  );
}
