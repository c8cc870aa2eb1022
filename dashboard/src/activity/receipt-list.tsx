import type { Connection } from "@inference/sdk/connection";
import { requestAsReader } from "@inference/sdk/session";
import type { ListedReceipt } from "@inference/sdk/spending";
import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { shortHex, when } from "../format.ts";
import { Amount, Badge, Card, Failure, Field, Loading } from "../parts.tsx";
import { Table } from "../parts/table.tsx";
import type { SignedIn } from "../wallet/wallet.ts";
import { downloadReceipts } from "./download.ts";

type Page = { data: ListedReceipt[]; next_cursor: string | null };

const PAGE = 50;

/** The requests, the newest first. */
export function ReceiptList({ wallet, nameOf }: ReceiptListParts): ReactNode {
  const [search, setSearch] = useState("");
  const pages = useInfiniteQuery({
    queryKey: ["own", wallet.address, wallet.token, "receipts"],
    queryFn: ({ pageParam }) => readPage(wallet.reading, pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor: next }) => next ?? undefined,
    refetchInterval: 30_000,
  });
  const download = useMutation({ mutationFn: () => downloadReceipts(wallet.token) });
  const all = pages.data?.pages.flatMap(({ data }) => data) ?? [];
  const wanted = search.trim().toLowerCase();
  const found = all.filter((receipt) =>
    [receipt.id, receipt.upstream_id, receipt.model, nameOf(receipt.key_id), receipt.tag, receipt.served_by].some(
      (text) => text?.toLowerCase().includes(wanted),
    ),
  );
  return (
    <Card
      title="Receipts"
      side={
        <button type="button" className="little" disabled={download.isPending} onClick={() => download.mutate()}>
          {download.isPending ? "Reading all of them …" : "Download as CSV"}
        </button>
      }
    >
      <Field label="Find" about="A part of a receipt's number, a model, a key, a tag or who served it.">
        {(props) => (
          <input {...props} type="search" value={search} onChange={({ target }) => setSearch(target.value)} />
        )}
      </Field>
      {pages.error === null ? null : <Failure error={pages.error} again={() => void pages.refetch()} />}
      {download.error === null ? null : <Failure error={download.error} />}
      {pages.data === undefined ? (
        pages.error === null ? (
          <Loading what="receipts" />
        ) : null
      ) : found.length === 0 ? (
        <p role="status">{all.length === 0 ? "No request yet." : "None of those that are shown."}</p>
      ) : (
        <Table
          label="Table of receipts"
          rows={found}
          keyOf={({ id }) => id}
          columns={[
            { title: "When", className: "whole", cell: (receipt) => when(receipt.created_at) },
            { title: "Model", className: "wrap", cell: ({ model }) => model ?? "–" },
            { title: "Key", cell: (receipt) => nameOf(receipt.key_id) },
            { title: "Served by", cell: (receipt) => <ServedBy by={receipt.served_by} /> },
            {
              title: "Tokens",
              kind: "number",
              cell: ({ tokens_prompt: prompt, tokens_completion: completion }) =>
                prompt === null ? "–" : `${prompt} + ${completion ?? 0}`,
            },
            { title: "Cost", kind: "number", cell: (receipt) => <Amount nanoUsd={receipt.charge_nano_usd} /> },
            {
              title: "Receipt",
              cell: ({ id }) => (
                <Link href={`/activity/${id}`} className="mono">
                  {id.slice(-8)}
                </Link>
              ),
            },
          ]}
        />
      )}
      {pages.hasNextPage ? (
        <p>
          <button type="button" disabled={pages.isFetching} onClick={() => void pages.fetchNextPage()}>
            Older ones
          </button>
        </p>
      ) : null}
    </Card>
  );
}
type ReceiptListParts = { wallet: SignedIn; nameOf: (keyId: string | null) => string };

export function ServedBy({ by }: { by: string | null }): ReactNode {
  if (by === null) return <Badge>own capacity</Badge>;
  if (by === "protocol") return <Badge>the service</Badge>;
  return (
    <Badge kind="good">
      agent <span className="mono">{shortHex(by)}</span>
    </Badge>
  );
}

function readPage(reading: Connection, cursor: string | undefined): Promise<Page> {
  return requestAsReader<Page>(reading, "/api/v1/activity", { query: { cursor, limit: PAGE } });
}
