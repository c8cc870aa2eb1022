import { request } from "@inference/sdk/request";
import type { Receipt } from "@inference/sdk/spending";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Check, ChevronDown, ChevronUp, Download, ShieldCheck, X } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { Link, useLocation } from "wouter";
import { useReceipt } from "../account.ts";
import { count, duration, shortHex, when } from "../format.ts";
import { gateway } from "../gateway.ts";
import { Table } from "../parts/table.tsx";
import { Amount, Button, ButtonLink, CopyButton, Fact, Failure, Hex, Read, Stat } from "../parts.tsx";
import { pathTo, useRoute } from "../route.ts";
import type { Finding } from "../verify/check-receipt.ts";
import { countOf, Findings } from "../verify/findings.tsx";
import type { Session } from "../wallet/session.ts";
import { save } from "./download.ts";
import { priceLines } from "./price-lines.ts";
import { SETTLEMENT_STATES } from "./settlement.ts";
import { useKeyNames } from "./use-spend.ts";

/** All data of one request: what it cost and why, and what became of the charge. */
export function ReceiptPanel({ session, id, ids }: PanelParts): ReactNode {
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
        <div className="row">
          <Neighbours id={id} ids={ids} />
          <ButtonLink
            icon={X}
            href={pathTo("activity", "", Object.fromEntries(query))}
            label="Close the receipt"
            className="plain little"
          />
        </div>
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
/** @param ids The receipts of the list, in its order. */
type PanelParts = { session: Session; id: string; ids: readonly string[] };

/** The receipts above and below this one in the list, also by the keys K and J. */
function Neighbours({ id, ids }: { id: string; ids: readonly string[] }): ReactNode {
  const { query } = useRoute();
  const [, go] = useLocation();
  const place = ids.indexOf(id);
  const pathOf = (other: string | undefined): string | null =>
    place === -1 || other === undefined ? null : pathTo("activity", other, Object.fromEntries(query));
  const [above, below] = [pathOf(ids[place - 1]), pathOf(ids[place + 1])];
  useEffect(() => {
    const onKey = ({ key, target, ctrlKey, metaKey, altKey }: KeyboardEvent): void => {
      if (ctrlKey || metaKey || altKey || (target as Element).matches("input, select, textarea")) return;
      const path = key === "k" ? above : key === "j" ? below : null;
      if (path !== null) go(path);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [above, below, go]);
  return (
    [
      ["Previous receipt (K)", above, ChevronUp],
      ["Next receipt (J)", below, ChevronDown],
    ] as const
  ).map(([label, path, Icon]) => (
    <Button
      icon={Icon}
      key={label}
      label={label}
      title={label}
      disabled={path === null}
      act={() => path !== null && go(path)}
    />
  ));
}

function Charge({ session, receipt }: { session: Session; receipt: Receipt }): ReactNode {
  const nameOfKey = useKeyNames(session);
  const { settlement, model, key_id: key, created_at: at } = receipt;
  const [kind, word] = settlement === null ? [] : SETTLEMENT_STATES[settlement.status];
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
    queryFn: () => request<Prices>(gateway, `/api/v1/prices/${snapshot}`),
    enabled: snapshot !== null,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const pricing = prices.data?.data.find(({ id }) => id === model)?.pricing;
  const lines = pricing === undefined ? null : priceLines(receipt, pricing);
  if (lines === null) return null;
  return (
    <Table
      label="Price lines"
      rows={lines}
      keyOf={({ title }) => title}
      columns={[
        { title: "Price line", cell: ({ title }) => title },
        { title: "Tokens", kind: "number", cell: ({ quantity }) => count(quantity) },
        { title: "per 1M", kind: "number", cell: ({ price }) => `× ${price}` },
        { title: "Amount", kind: "number", cell: ({ amount }) => amount },
      ]}
      foot={
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
      }
    />
  );
}

function Facts({ receipt }: { receipt: Receipt }): ReactNode {
  const { tag, generation_time: ms, streamed, cancelled, rebate_nano_usd: rebate } = receipt;
  const { tokens_prompt: input, tokens_completion: output, native_tokens_reasoning: reasoning } = receipt;
  return (
    <dl className="facts right part">
      <Fact name="Reserved before the request" value={<Amount nanoUsd={receipt.held_nano_usd} />} />
      <Fact name="Input, output">
        {input === null ? "–" : `${count(input)}, ${count(output ?? 0)}`}
        {reasoning === null || reasoning === 0 ? "" : ` (${count(reasoning)} reasoning)`}
      </Fact>
      <Fact name="Took">
        {duration(ms)}
        {streamed === true ? ", streamed" : ""}
        {cancelled ? ", stopped by the client" : ""}
      </Fact>
      {tag === null ? null : <Fact name="Tag" value={tag} />}
      <Fact name="Served by" value={<ServedBy by={receipt.served_by} />} />
      {rebate === 0 ? null : <Fact name="Rebate, 10% in tokens" value={<Amount nanoUsd={rebate} />} />}
    </dl>
  );
}

function ServedBy({ by }: { by: string | null }): ReactNode {
  if (by === null) return "your own capacity";
  if (by === "protocol") return "the service";
  return (
    <>
      agent <Link href={pathTo("agents", by)}>{shortHex(by)}</Link>
    </>
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
  const saveProof = (): void =>
    save(`proof of ${id}.json`, "application/json", JSON.stringify({ statement, leaf, proof, record }, null, 2));
  return (
    <div className="stack part">
      <div aria-live="polite">
        <Proved status={settlement.status} findings={checking.data} />
      </div>
      <dl className="facts trail">
        <Fact
          name="Statement"
          value={
            statement === null ? (
              "none yet"
            ) : (
              <>
                <Amount nanoUsd={statement.before_nano_usd} /> to <Amount nanoUsd={statement.after_nano_usd} />
                <span className="hint below">of the account's charges</span>
              </>
            )
          }
          term={statement === null ? "" : "done"}
        />
        <Fact
          name="Chunk"
          value={record === null ? "none yet" : shortHex(record.chunk.root)}
          term={record === null ? "" : "done"}
          className="mono"
        />
        <Fact name="Transaction" term={record === null ? "" : "done"}>
          {record === null ? (
            "none yet"
          ) : (
            <>
              <Hex text={record.chunk.transaction} label="Copy the hash" />
              <span className="hint below">block {count(record.chunk.block)}</span>
            </>
          )}
        </Fact>
      </dl>
      {checking.data === undefined ? null : (
        <details>
          <summary>The checks</summary>
          <Findings findings={checking.data} />
        </details>
      )}
      <Failure error={checking.error} />
      {record === null ? null : (
        <div className="row">
          <Button
            icon={ShieldCheck}
            text={checking.data === undefined ? "Verify this" : "Verify again"}
            waits={checking.isPending && "Checking …"}
            className="little"
            act={() => checking.mutate()}
          />
          <Button icon={Download} text="Proof as JSON" className="plain little" act={saveProof} />
          <ButtonLink
            text="Check with your own node"
            href={pathTo("verify", "", { receipt: id })}
            className="plain little"
          />
        </div>
      )}
    </div>
  );
}

type Checked = readonly Finding[] | undefined;
type Settled = NonNullable<Receipt["settlement"]>["status"];

/** The verdict of the checks; before them, the state of the charge. */
function Proved({ status, findings }: { status: Settled; findings: Checked }): ReactNode {
  const [, word, about] = SETTLEMENT_STATES[status];
  if (findings === undefined) {
    return (
      <>
        <h3>{word}</h3>
        <p className="quiet">{about}</p>
      </>
    );
  }
  const { title, kind } = countOf(findings);
  const isProved = findings.every(({ outcome }) => outcome === "pass");
  return (
    <div className="proved">
      <span className={`verdict-mark ${isProved || kind === "bad" ? kind : ""}`} aria-hidden="true">
        {kind === "bad" ? <X /> : <Check />}
      </span>
      <div>
        <h3>{isProved ? "Proved on chain" : kind === "bad" ? "Not proved" : "Not proved yet"}</h3>
        <p className="quiet">
          {title}.{isProved ? " This charge is in the total that the contract debited." : ""}
        </p>
      </div>
    </div>
  );
}
