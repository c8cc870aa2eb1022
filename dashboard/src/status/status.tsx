import type { ReactNode } from "react";
import { count, fromNow, shortHex, when } from "../format.ts";
import {
  chainName,
  type Status as StatusData,
  useBatches,
  useDirectory,
  useReconciliations,
  useStatus,
} from "../gateway.ts";
import { Amount, Badge, Card, Figure, Head, type Kind, Meter, Note, Read, Scroll } from "../parts.tsx";

/** What anybody may know of the service. */
export function Status(): ReactNode {
  const status = useStatus();
  return (
    <>
      <Head title="Status and books">
        What this service has, owes and has settled. It says so itself here; <a href="#/verify">check a bill</a> asks
        the public record instead.
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
      <BatchTable />
      <ReconciliationTable />
    </>
  );
}

function Ceiling({ ceiling }: StatusData): ReactNode {
  const used = ceiling.limit_nano_usd - ceiling.left_nano_usd;
  return (
    <Card title="Today's limit for everybody">
      <Figure label="Left">
        <Amount nano={ceiling.left_nano_usd} />
      </Figure>
      <Meter used={used} whole={ceiling.limit_nano_usd} />
      <p className="small quiet">
        of <Amount nano={ceiling.limit_nano_usd} />; <Amount nano={ceiling.held_nano_usd} /> is held for requests that
        run now.{ceiling.resets_at === null ? "" : ` It starts anew ${fromNow(ceiling.resets_at)}.`}
      </p>
    </Card>
  );
}

function Service({ following, settler, posted, prices }: StatusData): ReactNode {
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
            <Badge kind={settler.state === "halted" ? "bad" : "good"}>{settler.state}</Badge>
          )}
          {settler?.reason == null ? null : <span className="quiet"> {settler.reason}</span>}
        </dd>
        <dt>Settled so far</dt>
        <dd>
          {posted === null ? (
            "not known yet"
          ) : (
            <>
              <Amount nano={posted.debited_nano_usd} /> in {count(posted.batches)} batches
            </>
          )}
        </dd>
        <dt>Prices</dt>
        <dd>
          {prices === null ? "none in force" : `${count(prices.models)} models, read ${count(prices.age_s)} s ago`}
        </dd>
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
      <Card title="The books">
        <Note kind="warn">The public record does not tell the books at the moment.</Note>
      </Card>
    );
  }
  return (
    <Card title="The books" side={<AddsUp is={books.adds_up} />}>
      <p className="quiet">
        Every dollar that came in is still there, or was paid for AI. The dollars on {nameOf(primary ?? 0)} must be
        exactly the sum of what they are kept for. Read {when(books.at)}, block {count(books.block)}.
      </p>
      <div className="grid">
        <dl className="facts sums">
          <dt>Tokens that can become AI</dt>
          <dd>
            <Amount nano={books.supply_nano_usd} isExact />
          </dd>
          <dt>Balances of customers</dt>
          <dd>
            <Amount nano={books.credit_nano_usd} isExact />
          </dd>
          <dt>Owed for AI that was used</dt>
          <dd>
            <Amount nano={books.owed_nano_usd} isExact />
          </dd>
          <dt>Kept for other chains</dt>
          <dd>
            <Amount nano={books.lines_nano_usd} isExact />
          </dd>
          <dt className="total">Dollars there</dt>
          <dd className="total">
            <Amount nano={books.backing_nano_usd} isExact />
          </dd>
        </dl>
      </div>
      <h3>Other chains</h3>
      <Scroll label="Table of other chains">
        <table>
          <caption>Their dollars travel to {nameOf(primary ?? 0)} in batches</caption>
          <thead>
            <tr>
              <th scope="col">Chain</th>
              <th scope="col" className="number">
                Tokens there
              </th>
              <th scope="col" className="number">
                Kept for it
              </th>
              <th scope="col" className="number">
                Dollars waiting
              </th>
              <th scope="col" className="number">
                On their way
              </th>
              <th scope="col">Adds up</th>
            </tr>
          </thead>
          <tbody>
            {books.chains.map((chain) => (
              <tr key={chain.chain_id}>
                <th scope="row">{nameOf(chain.chain_id)}</th>
                {[chain.supply_nano_usd, chain.line_nano_usd, chain.outbox_nano_usd, chain.in_flight_nano_usd].map(
                  (nano, index) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: the columns do not change
                    <td key={index} className="number">
                      {nano === null ? "–" : <Amount nano={nano} />}
                    </td>
                  ),
                )}
                <td>
                  <AddsUp is={chain.adds_up} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Card>
  );
}

function AddsUp({ is }: { is: boolean | null }): ReactNode {
  if (is === null) return <Badge kind="warn">not known</Badge>;
  return is ? <Badge kind="good">✓ adds up</Badge> : <Badge kind="bad">does not add up</Badge>;
}

const BATCH: Readonly<Record<string, [Kind, string]>> = {
  pending: ["plain", "being prepared"],
  posted: ["warn", "sent"],
  final: ["good", "final"],
};

function BatchTable(): ReactNode {
  const batches = useBatches();
  return (
    <Card title="Batches">
      <p className="quiet">What was used is written to the public record in batches. The newest come first.</p>
      <Read from={batches} what="batches">
        {({ data }) =>
          data.length === 0 ? (
            <p>None yet: the first one comes minutes after the first paid request.</p>
          ) : (
            <Scroll label="Table of batches">
              <table>
                <thead>
                  <tr>
                    <th scope="col">Batch</th>
                    <th scope="col">State</th>
                    <th scope="col">Day</th>
                    <th scope="col" className="number">
                      Requests
                    </th>
                    <th scope="col" className="number">
                      Dollars
                    </th>
                    <th scope="col">Transaction</th>
                  </tr>
                </thead>
                <tbody>
                  {data.map((batch) => {
                    const [kind, state] = BATCH[batch.status] ?? ["plain", batch.status];
                    return (
                      <tr key={batch.id}>
                        <th scope="row">{batch.id}</th>
                        <td>
                          <Badge kind={kind}>{state}</Badge>
                        </td>
                        <td>{batch.day ?? "–"}</td>
                        <td className="number">{count(batch.uses)}</td>
                        <td className="number">
                          <Amount nano={batch.amount_nano_usd} isExact />
                        </td>
                        <td className="mono" title={batch.transaction ?? undefined}>
                          {batch.transaction === null ? "–" : shortHex(batch.transaction)}
                        </td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
            </Scroll>
          )
        }
      </Read>
    </Card>
  );
}

function ReconciliationTable(): ReactNode {
  const days = useReconciliations();
  return (
    <Card title="Days compared with the public record">
      <p className="quiet">
        Each day's charges are compared with what was settled, to a billionth of a dollar. What is unexplained must be
        nothing.
      </p>
      <Read from={days} what="days">
        {({ data }) =>
          data.length === 0 ? (
            <p>None yet: the first one comes with the first day on which something was used.</p>
          ) : (
            <Scroll label="Table of days">
              <table>
                <thead>
                  <tr>
                    <th scope="col">Day</th>
                    <th scope="col">State</th>
                    <th scope="col" className="number">
                      Requests
                    </th>
                    <th scope="col" className="number">
                      Charged
                    </th>
                    <th scope="col" className="number">
                      Settled
                    </th>
                    <th scope="col" className="number">
                      Unexplained
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {data.map((day) => (
                    <tr key={day.day}>
                      <th scope="row">{day.day}</th>
                      <td>
                        <Badge kind={day.status === "closed" ? "good" : "plain"}>{day.status}</Badge>
                      </td>
                      <td className="number">{count(day.uses)}</td>
                      <td className="number">
                        <Amount nano={day.journal_nano_usd} isExact />
                      </td>
                      <td className="number">
                        <Amount nano={day.debited_nano_usd} isExact />
                      </td>
                      <td className="number">
                        <Amount nano={day.unexplained_nano_usd} isExact />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </Scroll>
          )
        }
      </Read>
    </Card>
  );
}
