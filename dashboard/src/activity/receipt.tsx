import { type Receipt as ReceiptData, readReceipt } from "@inference/sdk/spending";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { count, when } from "../format.ts";
import { Amount, Badge, Card, Stat, Head, type Kind, Read } from "../parts.tsx";
import { CodeBlock } from "../parts/code.tsx";
import { useRoute } from "../route.ts";
import { NeedsSession } from "../wallet/gate.tsx";
import { useOwn } from "../wallet/session.ts";
import type { SignedIn } from "../wallet/wallet.ts";
import { ServedBy } from "./receipt-list.tsx";

/** All data of one request. */
export default function Receipt(): ReactNode {
  const { rest: id } = useRoute();
  return (
    <>
      <Head title="Receipt">
        <Link href="/activity">All receipts</Link>
      </Head>
      <NeedsSession why="To show a receipt of your wallet's.">
        {(wallet) => <Own key={id} wallet={wallet} id={id} />}
      </NeedsSession>
    </>
  );
}

function Own({ wallet, id }: { wallet: SignedIn; id: string }): ReactNode {
  const receipt = useOwn(wallet, ["receipt", id], (reading) => readReceipt(reading, id), 10_000);
  return (
    <Read from={receipt} what="receipt">
      {(data) => (
        <div className="two">
          <Card title={data.model ?? "A request"}>
            <Stat label="It cost" about={BASIS[data.basis]}>
              <Amount nanoUsd={data.charge_nano_usd} />
            </Stat>
            <dl className="facts">
              <dt>Number</dt>
              <dd className="mono">{data.id}</dd>
              <dt>When</dt>
              <dd>{when(data.created_at)}</dd>
              {data.tag === null ? null : (
                <>
                  <dt>Tag</dt>
                  <dd className="wrap">{data.tag}</dd>
                </>
              )}
              <dt>Took</dt>
              <dd>{count(data.generation_time)} ms</dd>
              <dt>Tokens sent</dt>
              <dd>{data.tokens_prompt === null ? "–" : count(data.tokens_prompt)}</dd>
              <dt>Tokens answered</dt>
              <dd>{data.tokens_completion === null ? "–" : count(data.tokens_completion)}</dd>
              <dt>Served by</dt>
              <dd>
                <ServedBy by={data.served_by} />
              </dd>
              <dt>Held at most</dt>
              <dd>
                <Amount nanoUsd={data.held_nano_usd} />
              </dd>
              {data.rebate_nano_usd === 0 ? null : (
                <>
                  <dt>Comes back</dt>
                  <dd>
                    <Amount nanoUsd={data.rebate_nano_usd} /> in tokens
                  </dd>
                </>
              )}
            </dl>
          </Card>
          <Settlement receipt={data} />
        </div>
      )}
    </Read>
  );
}

const BASIS: Readonly<Record<ReceiptData["basis"], string>> = {
  nothing: "Nothing was charged.",
  usage: "What the provider counted, times the price.",
  flat: "The price of what came.",
  delivered: "The answer broke off: what had come by then.",
  hold: "The most that it could have cost.",
  record: "What the provider's own record says.",
  checkpoint: "What had been delivered when it was interrupted.",
};

const STATES: Readonly<Record<string, [Kind, string]>> = {
  pending: ["plain", "waits to be sent"],
  posted: ["warn", "sent to the blockchain"],
  final: ["good", "final on the blockchain"],
};

function Settlement({ receipt: { id, settlement } }: { receipt: ReceiptData }): ReactNode {
  if (settlement === null) {
    return (
      <Card title="Settlement on the blockchain">
        <p className="quiet">Nothing was charged to your balance, so there is nothing to settle.</p>
      </Card>
    );
  }
  const [kind, words] = STATES[settlement.status] ?? ["plain", settlement.status];
  const { statement, leaf, proof, record } = settlement;
  return (
    <Card title="Settlement on the blockchain" side={<Badge kind={kind}>{words}</Badge>}>
      <dl className="facts">
        <dt>Statement</dt>
        <dd>
          {statement === null ? (
            "none yet"
          ) : (
            <>
              all that you owed from <Amount nanoUsd={statement.before_nano_usd} /> to{" "}
              <Amount nanoUsd={statement.after_nano_usd} />
            </>
          )}
        </dd>
        <dt>Transaction</dt>
        <dd className="mono">{record?.chunk.transaction ?? "none yet"}</dd>
      </dl>
      {record === null ? null : (
        <>
          <p>
            <Link className="button" href={`/verify?receipt=${encodeURIComponent(id)}`}>
              Check it yourself
            </Link>
          </p>
          <details>
            <summary>The proof</summary>
            <CodeBlock label="For programs" text={JSON.stringify({ statement, leaf, proof, record }, null, 2)} />
          </details>
        </>
      )}
    </Card>
  );
}
