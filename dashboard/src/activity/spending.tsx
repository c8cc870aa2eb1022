import { listKeys } from "@inference/sdk/keys";
import { readActivity, readCredits } from "@inference/sdk/spending";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { count, usd } from "../format.ts";
import { Amount, Card, Stat, Head, Note, Read } from "../parts.tsx";
import { Table } from "../parts/table.tsx";
import { NeedsSession } from "../wallet/gate.tsx";
import { useOwn } from "../wallet/session.ts";
import type { SignedIn } from "../wallet/wallet.ts";
import { ReceiptList } from "./receipt-list.tsx";
import { by, byDay, daysLeft, type Sum } from "./totals.ts";

const DAYS = 30;
/** The balance is low if it lasts fewer days, at the average of the last seven. */
const FEW_DAYS = 3;

export default function Spending(): ReactNode {
  return (
    <>
      <Head title="Spending">What your keys used, by day, model, key and tag, and the receipt of each request.</Head>
      <NeedsSession why="To show what your wallet's keys spent.">{(wallet) => <Own wallet={wallet} />}</NeedsSession>
    </>
  );
}

function Own({ wallet }: { wallet: SignedIn }): ReactNode {
  const groupBy = ["day", "model", "key", "tag"] as const;
  const totals = useOwn(wallet, ["activity"], (reading) => readActivity(reading, { groupBy }), 30_000);
  const credits = useOwn(wallet, ["credits"], readCredits, 30_000);
  const keys = useOwn(wallet, ["keys"], listKeys);
  const names = new Map(keys.data?.map(({ id, name, label }) => [id, name || label]));
  const nameOf = (id: string | null | undefined): string =>
    id == null ? "sessions" : (names.get(id) ?? `a deleted key (${id.slice(0, 6)}…)`);
  return (
    <>
      <Read from={totals} what="spending">
        {(data) => {
          const days = byDay(data, DAYS);
          const lasts = credits.data === undefined ? null : daysLeft(days, credits.data.available_nano_usd);
          const sum = days.reduce((all, { nanoUsd }) => all + nanoUsd, 0);
          return (
            <>
              {lasts !== null && lasts < FEW_DAYS ? (
                <Note kind="warn">
                  <p>
                    <strong>Your balance is nearly used up.</strong> At the pace of the last seven days it lasts for{" "}
                    {lasts === 0 ? "less than a day" : `about ${lasts} ${lasts === 1 ? "day" : "days"}`}.{" "}
                    <Link href="/funds">Add dollars</Link>
                  </p>
                </Note>
              ) : null}
              <Card title="The last 30 days">
                <div className="grid">
                  <Stat label="Spent">
                    <Amount nanoUsd={sum} />
                  </Stat>
                  <Stat label="Left to spend">
                    {credits.data === undefined ? (
                      "…"
                    ) : (
                      <Amount nanoUsd={credits.data.available_nano_usd} />
                    )}
                  </Stat>
                  <Stat label="Requests">{count(days.reduce((all, { requests }) => all + requests, 0))}</Stat>
                </div>
                <Days days={days} />
              </Card>
              <div className="grid">
                <Sums title="By model" first="Model" sums={by(data, ({ model }) => model ?? "unknown")} />
                <Sums title="By key" first="Key" sums={by(data, ({ key_id: id }) => nameOf(id))} />
                {data.some(({ tag }) => tag != null) ? (
                  <Sums title="By tag" first="Tag" sums={by(data, ({ tag }) => tag ?? "no tag")} />
                ) : null}
              </div>
            </>
          );
        }}
      </Read>
      <ReceiptList wallet={wallet} nameOf={nameOf} />
    </>
  );
}

function Days({ days }: { days: readonly Sum[] }): ReactNode {
  const most = Math.max(1, ...days.map(({ nanoUsd }) => nanoUsd));
  return (
    <>
      <div className="bars" aria-hidden="true">
        {days.map(({ name, nanoUsd }) => (
          <div key={name} title={`${name}: ${usd(nanoUsd)}`} style={{ height: `${(nanoUsd / most) * 100}%` }} />
        ))}
      </div>
      <div className="row apart small quiet" aria-hidden="true">
        <span>{days[0]?.name}</span>
        <span>{days.at(-1)?.name}</span>
      </div>
      <details>
        <summary>As a table</summary>
        <SumTable label="Days" first="Day (UTC)" sums={days.filter(({ requests }) => requests > 0).toReversed()} />
      </details>
    </>
  );
}

function Sums({ title, first, sums }: { title: string; first: string; sums: readonly Sum[] }): ReactNode {
  const most = sums[0]?.nanoUsd ?? 0;
  if (sums.length === 0) {
    return (
      <Card title={title}>
        <p className="quiet">Nothing was spent yet.</p>
      </Card>
    );
  }
  return (
    <Card title={title}>
      <ul className="lines">
        {sums.slice(0, 6).map(({ name, nanoUsd }) => (
          <li key={name}>
            <div className="row apart">
              <span className="wrap">{name}</span>
              <Amount nanoUsd={nanoUsd} />
            </div>
            <div className="meter" aria-hidden="true">
              <div style={{ width: `${most === 0 ? 0 : (nanoUsd / most) * 100}%` }} />
            </div>
          </li>
        ))}
      </ul>
      <details>
        <summary>As a table</summary>
        <SumTable label={title} first={first} sums={sums} />
      </details>
    </Card>
  );
}

function SumTable({ label, first, sums }: { label: string; first: string; sums: readonly Sum[] }): ReactNode {
  return (
    <Table
      label={`Table: ${label}`}
      rows={sums}
      keyOf={({ name }) => name}
      columns={[
        { title: first, className: "wrap", cell: ({ name }) => name },
        { title: "Requests", kind: "number", cell: ({ requests }) => count(requests) },
        { title: "Spent", kind: "number", cell: ({ nanoUsd }) => <Amount nanoUsd={nanoUsd} /> },
      ]}
    />
  );
}
