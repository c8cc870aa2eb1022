import type { healthAnswer } from "@inference/protocol/wire/answers";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type * as z from "zod";
import { count, fromNow, placesOf, usd, when } from "../format.ts";
import { chainNameIn, type Status as StatusData, useDirectory, useReconciliations, useStatus } from "../gateway.ts";
import { Table } from "../parts/table.tsx";
import { Amount, Card, Fact, Head, Note, Read, Stat } from "../parts.tsx";
import { ReservesCard } from "./reserves.tsx";

/** The public state of the service. */
export default function Status(): ReactNode {
  const status = useStatus();
  const books = status.data?.books ?? null;
  const now = Date.parse(status.data?.time ?? "");
  return (
    <>
      <Head
        title="Status"
        side={
          books === null ? undefined : (
            <span className="hint">
              Read {when(books.at, now)} UTC, block {count(books.block)}
            </span>
          )
        }
      />
      <Read from={status} what="status" height={480}>
        {(data) => (
          <>
            <ReservesCard {...data} />
            <div className="grid">
              <Ceiling {...data} />
              <Settlement {...data} />
            </div>
            <Services {...data} />
          </>
        )}
      </Read>
      <ReconciliationTable />
    </>
  );
}

function Ceiling({ ceiling, time }: StatusData): ReactNode {
  const { limit_nano_usd: limit, left_nano_usd: left, held_nano_usd: held, settled_nano_usd: used } = ceiling;
  const resets = ceiling.resets_at === null ? null : fromNow(ceiling.resets_at, Date.parse(time));
  const part = (nanoUsd: number) => ({
    width: `${limit === 0 ? 0 : Math.min(100, (nanoUsd / limit) * 100)}%`,
    minWidth: nanoUsd === 0 ? 0 : 3,
  });
  const isNear = left * 10 < limit;
  return (
    <Card title="Ceiling today" side={resets === null ? undefined : <span className="hint">Resets {resets}</span>}>
      <Stat label="Left for all customers" about={`of ${usd(limit)}`}>
        <Amount nanoUsd={left} />
      </Stat>
      <div className={`meter parts ${isNear ? "warn" : ""}`} aria-hidden="true">
        <div style={part(used)} />
        <div className="reserved" style={part(held)} />
      </div>
      <ul className="legend">
        <li>
          <span className={`swatch ${isNear ? "near" : "series1"}`} aria-hidden="true" />
          Used <Amount nanoUsd={used} />
        </li>
        <li>
          <span className="swatch series4" aria-hidden="true" />
          Reserved by running requests <Amount nanoUsd={held} />
        </li>
      </ul>
      {isNear ? (
        <Note kind="warn">Less than a tenth is left. At zero, new requests are refused until the ceiling resets.</Note>
      ) : null}
    </Card>
  );
}

function Settlement({ settlement, settler, time }: StatusData): ReactNode {
  if (settlement === null) {
    return (
      <Card title="Settlement">
        <p className="quiet">
          {settler === null ? "This gateway posts no charges on chain." : "No final block has been read yet."}
        </p>
      </Card>
    );
  }
  const { waiting_nano_usd: waiting, waiting_accounts: accounts, chunks_in_flight: posted } = settlement;
  const { oldest_at: oldest, debited_nano_usd: debited } = settlement;
  const places = placesOf([waiting, debited]);
  return (
    <Card
      title="Settlement"
      side={
        <span className="hint">
          {oldest === null ? "Nothing waits" : `Oldest waiting: ${fromNow(oldest, Date.parse(time))}`}
        </span>
      }
    >
      <dl className="facts right wide-term">
        <Fact
          name={
            <>
              <span className="state">Due, not confirmed</span>
              <span className="hint below">
                {count(accounts)} {accounts === 1 ? "account" : "accounts"}
              </span>
            </>
          }
          value={<Amount nanoUsd={waiting} places={places} />}
        />
        <Fact name={<span className="state half">Posted, not confirmed</span>}>
          {count(posted)} {posted === 1 ? "transaction" : "transactions"}
        </Fact>
        <Fact
          name={
            <>
              <span className="state good">Confirmed</span>
              <span className="hint below">Debited in final blocks, lifetime</span>
            </>
          }
          value={<Amount nanoUsd={debited} places={places} />}
        />
      </dl>
    </Card>
  );
}

type Health = z.infer<typeof healthAnswer>;

/** `/healthz` answers 503 with the same body while a paid request could not be admitted. */
function useHealth(): UseQueryResult<Health> {
  const read = async (): Promise<Health> => (await (await fetch("/healthz")).json()) as Health;
  return useQuery({ queryKey: ["healthz"], queryFn: read, refetchInterval: 15_000 });
}

type Service = { name: string; kind: "good" | "warn" | "bad" | ""; now: string };

function Services(status: StatusData): ReactNode {
  const health = useHealth().data;
  const directory = useDirectory();
  const nameOf = (id: number): string => chainNameIn(directory.data, id);
  return (
    <Card title="Services" isFlush>
      <Table
        label="Table of services"
        asCards
        rows={servicesOf(status, health, nameOf)}
        keyOf={({ name }) => name}
        columns={[
          { title: "Service", kind: "name", cell: ({ name }) => name },
          {
            title: "Now",
            inCard: "whole",
            cell: ({ kind, now }) => <span className={`state service ${kind}`}>{now}</span>,
          },
        ]}
      />
    </Card>
  );
}

function servicesOf(status: StatusData, health: Health | undefined, nameOf: (id: number) => string): Service[] {
  const { following, settler, prices, books, primary_chain_id: primary, provider_bill: bill } = status;
  const ledger = health?.checks.ledger;
  const provider = health?.checks.provider;
  const billed =
    bill == null || bill.provider_nano_usd === null || bill.listed_nano_usd === null
      ? ""
      : `. Its bill of ${bill.day} is ${usd(bill.provider_nano_usd)}, and ${usd(bill.listed_nano_usd)} at list prices`;
  return [
    {
      name: "API",
      kind: ledger === undefined ? "" : ledger === "ok" ? "good" : "bad",
      now: ledger === undefined ? "Not read yet" : API_STATES[ledger],
    },
    {
      name: "Provider",
      kind: provider === "ok" ? "good" : provider === "refused" ? "bad" : "",
      now: `${PROVIDER_STATES[provider ?? "unknown"]}${billed}`,
    },
    {
      name: "Prices",
      kind: prices === null ? "bad" : "good",
      now: prices === null ? "None in force" : `${count(prices.models)} models, read ${ago(prices.age_s)}`,
    },
    {
      name: `Chain reader, ${nameOf(primary ?? 0)}`,
      kind: following.state === "following" ? "good" : following.state === "halted" ? "bad" : "warn",
      now:
        FOLLOWING[following.state] +
        (following.block === null ? "" : `, block ${count(following.block)}`) +
        (following.lag_blocks ? `, ${count(following.lag_blocks)} blocks behind` : ""),
    },
    ...(books?.chains ?? []).map(
      ({ chain_id: id, known, block, at }): Service => ({
        name: `Chain reader, ${nameOf(id)}`,
        kind: known ? "good" : "warn",
        now:
          known && block !== null && at !== null
            ? `Block ${count(block)} of ${when(at, Date.parse(status.time))} UTC`
            : "Not read",
      }),
    ),
    {
      name: "Settler",
      kind: settler === null ? "" : settler.state === "waiting" ? "warn" : "good",
      now:
        settler === null
          ? "Not run by this gateway"
          : `${SETTLER_STATES[settler.state]}${settler.reason === null ? "" : `: ${settler.reason}`}`,
    },
  ];
}

const API_STATES = {
  ok: "Requests are admitted",
  behind: "Starting: the chain is not read far enough to admit requests",
  unavailable: "The ledger does not answer, so requests are refused",
} as const;
const PROVIDER_STATES = {
  ok: "Accepts the service's key",
  refused: "Refuses the service's key",
  unknown: "Not asked yet",
} as const;
const FOLLOWING = {
  following: "Up to date",
  starting: "Starting",
  halted: "Halted: it contradicts the books",
} as const;
const SETTLER_STATES = {
  starting: "Starting",
  idle: "Nothing to post",
  posting: "Posting",
  waiting: "Waiting",
} as const;

const ago = (seconds: number): string =>
  seconds < 60 ? `${count(seconds)} s ago` : `${count(Math.floor(seconds / 60))} min ago`;

const WIDE = { inCard: "titled", className: "in-card-whole" } as const;

function ReconciliationTable(): ReactNode {
  const days = useReconciliations();
  return (
    <Card title="Days reconciled with the chain" isFlush side={<span className="hint">The last 14</span>}>
      <Read from={days} what="days">
        {({ data }) => {
          if (data.length === 0) {
            return <p className="pad quiet">None yet. The first follows the first day with charges.</p>;
          }
          const places = placesOf(data.flatMap((day) => [day.statements_nano_usd, day.debited_nano_usd]));
          return (
            <Table
              label="Table of days"
              asCards
              rows={data}
              keyOf={({ day }) => day}
              columns={[
                { title: "Day", kind: "name", cell: ({ day }) => day },
                { title: "Transactions", kind: "number", inCard: "titled", cell: ({ chunks }) => count(chunks) },
                { title: "Charged", amount: (day) => day.statements_nano_usd, ...WIDE, places },
                { title: "Debited", amount: (day) => day.debited_nano_usd, ...WIDE, places },
                { title: "Unexplained", amount: (day) => day.unexplained_nano_usd, ...WIDE },
              ]}
            />
          );
        }}
      </Read>
    </Card>
  );
}
