import type { ListedReceipt } from "@inference/sdk/spending";
import { useInfiniteQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect } from "react";
import { Link } from "wouter";
import { readReceipts, useStatements } from "../account.ts";
import { count, placesOf, when } from "../format.ts";
import { Table } from "../parts/table.tsx";
import { Button, Empty, Failure, Loading } from "../parts.tsx";
import { pathTo, useRoute } from "../route.ts";
import type { Session } from "../wallet/session.ts";
import { SETTLEMENT_STATES, settlementAt } from "./settlement.ts";
import type { Filter, Range } from "./spend.ts";

const PAGE = 50;

/** The requests of a range, the newest first. */
export function ReceiptTable({ session, range, filter, nameOfKey, listed }: ReceiptTableParts): ReactNode {
  const { rest: shown, query } = useRoute();
  const asked = { from: range.from, to: range.to, ...filter };
  const pages = useInfiniteQuery({
    queryKey: ["own", session.address, session.token, "receipts", asked],
    queryFn: ({ pageParam }) => readReceipts(session, asked, { cursor: pageParam, limit: PAGE }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor: next }) => next ?? undefined,
    refetchInterval: 30_000,
  });
  const statements = useStatements(session);
  const ids = pages.data?.pages.flatMap(({ data }) => data.map(({ id }) => id)).join(" ");
  useEffect(() => {
    if (ids !== undefined) listed(ids.split(" "));
  }, [ids, listed]);
  if (pages.data === undefined) {
    if (pages.error === null) return <Loading what="requests" height={400} />;
    return <Failure error={pages.error} again={() => void pages.refetch()} />;
  }
  const receipts = pages.data.pages.flatMap(({ data }) => data);
  const kept = Object.fromEntries(query);
  const places = placesOf(receipts.map(({ charge_nano_usd: nano }) => nano));
  return (
    <>
      {receipts.length === 0 ? (
        <Empty>No receipts in these days.</Empty>
      ) : (
        <div className="card flush">
          <Table
            label="Requests"
            asCards
            rows={receipts}
            keyOf={({ id }) => id}
            rowClass={({ id }) => (id === shown ? "linked selected" : "linked")}
            columns={[
              {
                title: "Time, UTC",
                className: "whole",
                cell: ({ id, created_at: at }) => (
                  <Link href={pathTo("activity", id, kept)} aria-current={id === shown ? "true" : undefined}>
                    {when(at)}
                  </Link>
                ),
              },
              { title: "Model", className: "wrap card-first", cell: ({ model }) => model ?? "–" },
              {
                title: "Key",
                className: "quiet wrap",
                cell: ({ key_id: id }) => nameOfKey(id),
              },
              tokens("Input", ({ tokens_prompt: prompt }) => prompt),
              tokens("Output", ({ tokens_completion: completion }) => completion),
              { title: "Cost", amount: ({ charge_nano_usd: nano }) => nano, places, className: "card-first" },
              {
                title: "Settlement",
                inCard: "hidden",
                cell: ({ ends_at_nano_usd: endsAt }) => {
                  const state = statements.data === undefined ? null : settlementAt(statements.data, endsAt);
                  if (state === null) return "–";
                  const [kind, word] = SETTLEMENT_STATES[state];
                  return <span className={`state ${kind}`}>{word}</span>;
                },
              },
            ]}
          />
        </div>
      )}
      {pages.hasNextPage ? (
        <p>
          <Button text="Older requests" disabled={pages.isFetching} act={() => void pages.fetchNextPage()} />
        </p>
      ) : null}
    </>
  );
}
type ReceiptTableParts = {
  session: Session;
  range: Range;
  filter: Filter;
  nameOfKey: (keyId: string | null) => string;
  /** Is told the ids in the order of the list. */
  listed: (ids: readonly string[]) => void;
};

function tokens(title: string, of: (receipt: ListedReceipt) => number | null) {
  const cell = (receipt: ListedReceipt): string => {
    const value = of(receipt);
    return value === null ? "–" : count(value);
  };
  return { title, kind: "number", inCard: "hidden", cell } as const;
}
