import type { Connection } from "@inference/sdk/connection";
import { requestAsReader } from "@inference/sdk/session";
import type { ListedReceipt } from "@inference/sdk/spending";
import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { shortHex, when } from "../format.ts";
import { Amount, Badge, Card, Failure, Field, Loading, Scroll } from "../parts.tsx";
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
    [receipt.id, receipt.upstream_id, receipt.model, nameOf(receipt.key_id), receipt.served_by].some((text) =>
      text?.toLowerCase().includes(wanted),
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
      <Field label="Find" about="A part of a receipt's number, a model, a key or who served it.">
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
        <Scroll label="Table of receipts">
          <table>
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">Model</th>
                <th scope="col">Key</th>
                <th scope="col">Served by</th>
                <th scope="col" className="number">
                  Tokens
                </th>
                <th scope="col" className="number">
                  Cost
                </th>
                <th scope="col">Receipt</th>
              </tr>
            </thead>
            <tbody>
              {found.map((receipt) => (
                <tr key={receipt.id}>
                  <td className="whole">{when(receipt.created_at)}</td>
                  <td className="wrap">{receipt.model ?? "–"}</td>
                  <td>{nameOf(receipt.key_id)}</td>
                  <td>
                    <ServedBy by={receipt.served_by} />
                  </td>
                  <td className="number">
                    {receipt.tokens_prompt === null
                      ? "–"
                      : `${receipt.tokens_prompt} + ${receipt.tokens_completion ?? 0}`}
                  </td>
                  <td className="number">
                    <Amount nano={receipt.charge_nano_usd} isExact />
                  </td>
                  <td>
                    <a href={`#/receipt/${receipt.id}`} className="mono">
                      {receipt.id.slice(-8)}
                    </a>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
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
