import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { readReceipts, useCredits, useKeys, useTotals } from "../account.ts";
import {
  daysLeft,
  GROUPS,
  type GroupName,
  grouped,
  homeDays,
  RANGES,
  type RangeName,
  rangeOf,
  rowsIn,
  rowsOfTotals,
  type SpendRow,
  sumOf,
} from "../activity/spend.ts";
import { useKeyNames, useSpend } from "../activity/use-spend.ts";
import { count, placesOf, when } from "../format.ts";
import { useStatus } from "../gateway.ts";
import { KeyLimit, spentFirst } from "../keys/key-limit.tsx";
import { Chart } from "../parts/chart.tsx";
import { Segments } from "../parts/form.tsx";
import { stackOf } from "../parts/stack.ts";
import { Table } from "../parts/table.tsx";
import { Amount, ButtonLink, Card, Empty, Failure, Read, Skeleton, Stat } from "../parts.tsx";
import { pathTo } from "../route.ts";
import { type Session, useOwn, useSession } from "../wallet/session.ts";
import { FirstSteps } from "./first-steps.tsx";

/** The account: what is left, what was spent, on what, and which keys are near their limit. */
export default function Home(): ReactNode {
  const session = useSession();
  const status = useStatus();
  if (session === null) return null;
  // The day is the gateway's. Without it nothing can be dated.
  return (
    <>
      <h1 className="hidden">Home</h1>
      <Read from={status} what="account" height={600}>
        {({ time }) => <Account session={session} now={time} />}
      </Read>
    </>
  );
}

type Dated = { session: Session; now: string };

function Account({ session, now }: Dated): ReactNode {
  const totals = useTotals(session, homeDays(now));
  const credits = useCredits(session);
  const rows = totals.data === undefined ? undefined : rowsOfTotals(totals.data);
  const isNew = rows !== undefined && sumOf(rows).requests === 0;
  return (
    <>
      <Stats {...{ session, now, rows }} />
      <p className="narrow-only">
        <ButtonLink text="Add funds" href="/funds" className="first main" />
      </p>
      <Failure error={totals.error} again={() => void totals.refetch()} />
      {isNew ? <FirstSteps session={session} credits={credits.data} /> : <Spend {...{ session, now }} />}
      <div className="home-two">
        <KeysNearLimit session={session} />
        <Recent session={session} />
      </div>
    </>
  );
}

const MONTH = new Intl.DateTimeFormat("en-GB", { month: "long", timeZone: "UTC" });

function Stats({ session, now, rows }: Dated & { rows: SpendRow[] | undefined }): ReactNode {
  const credits = useCredits(session);
  const today = now.slice(0, 10);
  const month = MONTH.format(new Date(now));
  const ofDay = rows && sumOf(rows.filter(({ bar }) => bar === today));
  const ofMonth = rows && sumOf(rows.filter(({ bar }) => bar.startsWith(today.slice(0, 7))));
  const wait = <Skeleton height={36} width={120} />;
  const balance = credits.data?.available_nano_usd;
  return (
    <section className="stats" aria-label="Balance and spend">
      <Stat label="Balance" about={rows && balance !== undefined ? pace(rows, now, balance) : " "}>
        {balance === undefined ? wait : <Amount nanoUsd={balance} />}
      </Stat>
      <Stat label="Today" about="Since 00:00 UTC">
        {ofDay === undefined ? wait : <Amount nanoUsd={ofDay.nanoUsd} />}
      </Stat>
      <Stat label={month} about={`1 to ${Number(today.slice(8))} ${month.slice(0, 3)}`}>
        {ofMonth === undefined ? wait : <Amount nanoUsd={ofMonth.nanoUsd} />}
      </Stat>
      <Stat label="Requests today" about={ofMonth === undefined ? " " : `${count(ofMonth.requests)} in ${month}`}>
        {ofDay === undefined ? wait : count(ofDay.requests)}
      </Stat>
    </section>
  );
}

function pace(rows: readonly SpendRow[], now: string, availableNanoUsd: number): string {
  const days = daysLeft(rows, now, availableNanoUsd);
  if (days === null) return "Nothing was spent in the last 7 complete days";
  if (days === 0) return "Less than a day at last week's pace";
  return `About ${count(days)} ${days === 1 ? "day" : "days"} at last week's pace`;
}

function Spend({ session, now }: Dated): ReactNode {
  const [name, setName] = useState<RangeName>(matchMedia("(max-width: 719px)").matches ? "7d" : "30d");
  const [by, setBy] = useState<GroupName>("model");
  const nameOfKey = useKeyNames(session);
  const range = rangeOf(name, now, { from: "", to: "" });
  // The days come from the same rows as the figures above.
  const rows = useSpend(session, range.by === "day" ? { ...range, ...homeDays(now) } : range);
  return (
    <Card
      title={
        <>
          Spend{" "}
          {rows.data === undefined ? null : (
            <span className="quiet plain-weight">
              <Amount nanoUsd={sumOf(rowsIn(rows.data, range)).nanoUsd} />
            </span>
          )}
        </>
      }
      side={
        <div className="row">
          <Segments label="Range" value={name} options={RANGES} set={setName} />
          <span className="wide-only">
            <Segments label="Group by" value={by} options={GROUPS} set={setBy} />
          </span>
        </div>
      }
    >
      <Read from={rows} what="spend" height={230}>
        {(data) => {
          const stack = stackOf(grouped(rowsIn(data, range), by, nameOfKey), range.bars);
          return <Chart label={`Spend by ${range.by} and ${by}`} stack={stack} />;
        }}
      </Read>
    </Card>
  );
}

function KeysNearLimit({ session }: { session: Session }): ReactNode {
  const keys = useKeys(session);
  return (
    <Card title="Keys near their limit" side={<Link href="/keys">All keys</Link>} isFlush>
      <Read from={keys} what="keys" height={240}>
        {(all) => {
          const limited = spentFirst(all).slice(0, 3);
          if (limited.length === 0) {
            return (
              <div className="pad">
                <Empty action={<Link href="/keys/new">Create key</Link>}>
                  {all.length === 0 ? "No keys yet." : "No active key has a limit."}
                </Empty>
              </div>
            );
          }
          return (
            <ul className="rows">
              {limited.map((key) => (
                <li key={key.id}>
                  <KeyLimit apiKey={key} />
                </li>
              ))}
            </ul>
          );
        }}
      </Read>
    </Card>
  );
}

function Recent({ session }: { session: Session }): ReactNode {
  const nameOfKey = useKeyNames(session);
  const recent = useOwn(session, ["recent"], () => readReceipts(session, {}, { limit: 6 }), 15_000);
  return (
    <Card title="Recent requests" side={<Link href="/activity">All activity</Link>} isFlush>
      <Read from={recent} what="requests" height={240}>
        {({ data }) =>
          data.length === 0 ? (
            <div className="pad">
              <Empty>No requests in the last 30 days.</Empty>
            </div>
          ) : (
            <Table
              label="Table of recent requests"
              asCards
              rowClass={() => "linked"}
              rows={data}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: "Time",
                  className: "quiet whole",
                  cell: ({ id, created_at: at }) => <Link href={pathTo("activity", id)}>{when(at)}</Link>,
                },
                { title: "Model", className: "wrap card-first", cell: ({ model }) => model ?? "–" },
                { title: "Key", className: "quiet", cell: ({ key_id: id }) => nameOfKey(id) },
                {
                  title: "Tokens",
                  kind: "number",
                  className: "quiet",
                  inCard: "hidden",
                  cell: ({ tokens_prompt: prompt, tokens_completion: completion }) =>
                    prompt === null ? "–" : `${count(prompt)} in, ${count(completion ?? 0)} out`,
                },
                {
                  title: "Cost",
                  amount: ({ charge_nano_usd: nano }) => nano,
                  places: placesOf(data.map(({ charge_nano_usd: nano }) => nano)),
                  className: "card-first",
                },
              ]}
            />
          )
        }
      </Read>
    </Card>
  );
}
