import { readActivations } from "@inference/sdk/activate";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { fromNow, when } from "../format.ts";
import { chainNameIn, gateway } from "../gateway.ts";
import { Table } from "../parts/table.tsx";
import { Card, Hex } from "../parts.tsx";
import type { Wallet } from "../wallet/wallet.ts";

/** The wallet's activations that the gateway lists: on their way, and those of late. */
export function History({ wallet: { address, directory } }: { wallet: Wallet }): ReactNode {
  const { data } = useQuery({
    queryKey: ["activations", address],
    queryFn: () => readActivations(gateway, address),
    refetchInterval: 5_000,
  });
  const nameOf = (id: number): string => chainNameIn(directory, id);
  const rows = data?.activations.toReversed() ?? [];
  return (
    <>
      {rows.length === 0 ? null : (
        <Card title="Recent payments" isFlush>
          <Table
            label="Table of recent payments"
            asCards
            rows={rows}
            keyOf={({ transaction, guid }) => `${transaction} ${guid}`}
            columns={[
              { title: "Time, UTC", cell: ({ since }) => (since === null ? "–" : when(since)) },
              { title: "From", cell: ({ source_chain_id: id }) => nameOf(id) },
              {
                title: "Transaction",
                cell: ({ transaction }) => <Hex text={transaction} label="Copy the hash" />,
              },
              { title: "Amount", amount: ({ amount_nano_usd: nano }) => nano },
              {
                title: "Status",
                inCard: "whole",
                cell: ({ stage, waits_for: waits, due_at: due }) => (
                  <>
                    <span className={`state ${stage === "credited" ? "good" : "half"}`}>
                      {stage === "credited" ? "In the balance" : stage}
                    </span>
                    {waits === null ? null : (
                      <span className="small quiet below">
                        {waits}
                        {due === null ? "" : ` At the latest ${fromNow(due)}.`}
                      </span>
                    )}
                  </>
                ),
              },
            ]}
          />
        </Card>
      )}
      <p className="small quiet">
        A webhook can tell you when the balance runs low: <Link href="/settings">set it up in Settings</Link>.
      </p>
    </>
  );
}
