import { readActivations } from "@inference/sdk/activate";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { fromNow } from "../format.ts";
import { chainName, gateway } from "../gateway.ts";
import { Amount, Badge, Card } from "../parts.tsx";
import type { Wallet } from "../wallet/wallet.ts";

/** All activations of this wallet on their way to the balance. */
export function OnTheirWay({ wallet: { address, directory } }: { wallet: Wallet }): ReactNode {
  const { data } = useQuery({
    queryKey: ["activations", address],
    queryFn: () => readActivations(gateway, address),
    refetchInterval: 5_000,
  });
  const open = data?.activations.filter(({ stage }) => stage !== "credited") ?? [];
  if (open.length === 0) return null;
  const nameOf = (id: number): string =>
    chainName(directory.chains.find(({ chain_id: each }) => each === id) ?? { chain_id: id, name: null });
  return (
    <Card title="On their way to your balance">
      <ul className="lines">
        {open.map((each) => (
          <li key={each.transaction + each.guid} className="row apart">
            <span>
              <strong>
                <Amount nanoUsd={each.amount_nano_usd} />
              </strong>{" "}
              from {nameOf(each.source_chain_id)} <Badge>{each.stage}</Badge>
            </span>
            <span className="quiet small">
              {each.waits_for}
              {each.due_at === null ? "" : ` At the latest ${fromNow(each.due_at)}.`}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
