import type { ReactNode } from "react";
import { Link } from "wouter";
import { useTotals } from "../account.ts";
import { count } from "../format.ts";
import { Amount, Card, Read } from "../parts.tsx";
import { pathTo } from "../route.ts";
import type { Session } from "../wallet/session.ts";
import { Facts } from "./facts.tsx";

/** What the account used of a model in the last 30 days, by the service's clock. */
export function OwnUse({ session, id }: { session: Session; id: string }): ReactNode {
  const totals = useTotals(session, { model: id });
  return (
    <Card title="Your use, 30 days" side={<Link href={pathTo("activity", "", { model: id })}>Activity</Link>}>
      <Read from={totals} what="use" height={104}>
        {(rows) => {
          const sum = (of: (row: (typeof rows)[number]) => number) => rows.reduce((all, row) => all + of(row), 0);
          return (
            <Facts
              facts={[
                ["Spend", <Amount key="spend" nanoUsd={sum(({ usage_nano_usd: nano }) => nano)} />],
                ["Requests", count(sum(({ requests }) => requests))],
                ["Input tokens", count(sum(({ prompt_tokens: tokens }) => tokens))],
                ["Output tokens", count(sum(({ completion_tokens: tokens }) => tokens))],
              ]}
            />
          );
        }}
      </Read>
    </Card>
  );
}
