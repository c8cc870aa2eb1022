import type { ReactNode } from "react";
import { Link } from "wouter";
import { useTotals } from "../account.ts";
import { count } from "../format.ts";
import { Amount, Card, Fact, Read } from "../parts.tsx";
import { pathTo } from "../route.ts";
import type { Session } from "../wallet/session.ts";

/** What the account used of a model in the last 30 days, by the service's clock. */
export function OwnUse({ session, id }: { session: Session; id: string }): ReactNode {
  const totals = useTotals(session, { model: id });
  return (
    <Card title="Your use, 30 days" side={<Link href={pathTo("activity", "", { model: id })}>Activity</Link>}>
      <Read from={totals} what="use" height={104}>
        {(rows) => {
          const sum = (of: (row: (typeof rows)[number]) => number) => rows.reduce((all, row) => all + of(row), 0);
          return (
            <dl className="facts right">
              <Fact name="Spend" value={<Amount nanoUsd={sum(({ usage_nano_usd: nano }) => nano)} />} />
              <Fact name="Requests" value={count(sum(({ requests }) => requests))} />
              <Fact name="Input tokens" value={count(sum(({ prompt_tokens: tokens }) => tokens))} />
              <Fact name="Output tokens" value={count(sum(({ completion_tokens: tokens }) => tokens))} />
            </dl>
          );
        }}
      </Read>
    </Card>
  );
}
