import type { ReactNode } from "react";
import { Link } from "wouter";
import { count, fromNow, when } from "../format.ts";
import { chainName, type Status as StatusData, useDirectory, useReconciliations, useStatus } from "../gateway.ts";
import { Table } from "../parts/table.tsx";
import { Amount, Badge, Card, Head, Meter, Note, Read, Stat } from "../parts.tsx";

/** The public state of the service. */
export default function Status(): ReactNode {
  const status = useStatus();
  return (
    <>
      <Head title="Status and reserves">
        What this service has, owes and has settled. It says so itself here; <Link href="/verify">check a bill</Link>{" "}
        asks the blockchain instead.
      </Head>
      <Read from={status} what="status">
        {(data) => (
          <>
            <div className="grid">
              <Ceiling {...data} />
              <Service {...data} />
            </div>
            <Books {...data} />
          </>
        )}
      </Read>
      <ReconciliationTable />
    </>
  );
}

function Ceiling({ ceiling }: StatusData): ReactNode {
  const used = ceiling.limit_nano_usd - ceiling.left_nano_usd;
  return (
    <Card title="Today's limit for everybody">
      <Stat label="Left">
        <Amount nanoUsd={ceiling.left_nano_usd} />
      </Stat>
      <Meter used={used} whole={ceiling.limit_nano_usd} />
      <p className="small quiet">
        of <Amount nanoUsd={ceiling.limit_nano_usd} />; <Amount nanoUsd={ceiling.held_nano_usd} /> is held for requests
        that run now.{ceiling.resets_at === null ? "" : ` It resets ${fromNow(ceiling.resets_at)}.`}
      </p>
    </Card>
  );
}

function Service({ following, settler, settlement, prices, provider_bill: bill }: StatusData): ReactNode {
  return (
    <Card title="The service">
      <dl className="facts">
        <dt>Public record</dt>
        <dd>
          <Badge kind={following.state === "following" ? "good" : "warn"}>
            {following.state === "following" ? "read up to date" : following.state}
          </Badge>{" "}
          {following.block === null ? null : <span className="quiet">block {count(following.block)}</span>}
        </dd>
        <dt>Settling</dt>
        <dd>
          {settler === null ? (
            "not by this gateway"
          ) : (
            <Badge kind={settler.state === "waiting" ? "warn" : "good"}>{settler.state}</Badge>
          )}
          {settler?.reason == null ? null : <span className="quiet"> {settler.reason}</span>}
        </dd>
        <dt>Settled so far</dt>
        <dd>
          {settlement === null ? (
            "not known yet"
          ) : (
            <>
              <Amount nanoUsd={settlement.debited_nano_usd} />; {count(settlement.chunks_in_flight)} transactions are on
              their way
            </>
          )}
        </dd>
        <dt>Waiting to be settled</dt>
        <dd>
          {settlement === null ? (
            "not known yet"
          ) : settlement.oldest_at === null ? (
            "nothing"
          ) : (
            <>
              <Amount nanoUsd={settlement.waiting_nano_usd} /> of {count(settlement.waiting_accounts)} wallets, the
              oldest {fromNow(settlement.oldest_at)}
            </>
          )}
        </dd>
        <dt>Prices</dt>
        <dd>
          {prices === null ? "none in force" : `${count(prices.models)} models, read ${count(prices.age_s)} s ago`}
        </dd>
        {bill == null ? null : (
          <>
            <dt>The provider's bill</dt>
            <dd>
              {bill.day}:{" "}
              {bill.provider_nano_usd === null ? "not read yet" : <Amount nanoUsd={bill.provider_nano_usd} />}; at list
              prices {bill.listed_nano_usd === null ? "not known" : <Amount nanoUsd={bill.listed_nano_usd} />}
            </dd>
          </>
        )}
      </dl>
    </Card>
  );
}

function Books({ books, primary_chain_id: primary }: StatusData): ReactNode {
  const directory = useDirectory();
  const nameOf = (id: number): string => {
    const chain = directory.data?.chains.find((each) => each.chain_id === id);
    return chainName(chain ?? { chain_id: id, name: null });
  };
  if (books === null) {
    return (
      <Card title="Reserves">
        <Note kind="warn">The blockchain cannot be read at the moment. Try again in a minute.</Note>
      </Card>
    );
  }
  return (
    <Card title="Reserves" side={<AddsUp is={books.adds_up} />}>
      <p className="quiet">
        Every dollar that came in is still there, or was paid for AI. The dollars on {nameOf(primary ?? 0)} must be
        exactly the sum of what they are kept for. Read {when(books.at)}, block {count(books.block)}.
      </p>
      <div className="grid">
        <dl className="facts sums">
          <dt>Tokens in circulation</dt>
          <dd>
            <Amount nanoUsd={books.supply_nano_usd} />
          </dd>
          <dt>Balances of customers</dt>
          <dd>
            <Amount nanoUsd={books.credit_nano_usd} />
          </dd>
          <dt>Owed for AI that was used</dt>
          <dd>
            <Amount nanoUsd={books.owed_nano_usd} />
          </dd>
          <dt>Kept for other chains</dt>
          <dd>
            <Amount nanoUsd={books.lines_nano_usd} />
          </dd>
          <dt className="total">Dollars there</dt>
          <dd className="total">
            <Amount nanoUsd={books.backing_nano_usd} />
          </dd>
        </dl>
      </div>
      <h3>Other chains</h3>
      <Table
        label="Table of other chains"
        caption={`Their dollars travel to ${nameOf(primary ?? 0)} in batches`}
        rows={books.chains}
        keyOf={({ chain_id: id }) => id}
        columns={[
          { title: "Chain", kind: "name", cell: ({ chain_id: id }) => nameOf(id) },
          { title: "Tokens there", kind: "number", cell: (chain) => <Known nano={chain.supply_nano_usd} /> },
          { title: "Kept for it", kind: "number", cell: (chain) => <Known nano={chain.line_nano_usd} /> },
          { title: "Dollars waiting", kind: "number", cell: (chain) => <Known nano={chain.outbox_nano_usd} /> },
          { title: "On their way", kind: "number", cell: (chain) => <Known nano={chain.in_flight_nano_usd} /> },
          { title: "Adds up", cell: ({ adds_up: is }) => <AddsUp is={is} /> },
        ]}
      />
    </Card>
  );
}

function Known({ nano }: { nano: number | null }): ReactNode {
  return nano === null ? "–" : <Amount nanoUsd={nano} />;
}

function AddsUp({ is }: { is: boolean | null }): ReactNode {
  if (is === null) return <Badge kind="warn">not known</Badge>;
  return is ? <Badge kind="good">✓ adds up</Badge> : <Badge kind="bad">does not add up</Badge>;
}

function ReconciliationTable(): ReactNode {
  const days = useReconciliations();
  return (
    <Card title="Days compared with the blockchain">
      <p className="quiet">
        Each day's charges are compared with what was settled, to a billionth of a dollar. What is unexplained must be
        nothing.
      </p>
      <Read from={days} what="days">
        {({ data }) =>
          data.length === 0 ? (
            <p>None yet: the first one comes with the first day on which something was used.</p>
          ) : (
            <Table
              label="Table of days"
              rows={data}
              keyOf={({ day }) => day}
              columns={[
                { title: "Day", kind: "name", cell: ({ day }) => day },
                { title: "Transactions", kind: "number", cell: ({ chunks }) => count(chunks) },
                { title: "Charged", kind: "number", cell: (day) => <Amount nanoUsd={day.statements_nano_usd} /> },
                { title: "Settled", kind: "number", cell: (day) => <Amount nanoUsd={day.debited_nano_usd} /> },
                {
                  title: "Unexplained",
                  kind: "number",
                  cell: (day) => <Amount nanoUsd={day.unexplained_nano_usd} />,
                },
              ]}
            />
          )
        }
      </Read>
    </Card>
  );
}
