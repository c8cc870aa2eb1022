import type { ReactNode } from "react";
import { Link } from "wouter";
import { fromNow } from "../format.ts";
import { useStatus } from "../gateway.ts";
import { QuoteBox } from "../models/quote.tsx";
import { Amount, Badge, Card, Stat, Read } from "../parts.tsx";

/** The introduction for new readers. */
export default function Landing(): ReactNode {
  return (
    <>
      <div className="head">
        <h1>Pay for AI by the dollar. Check every cent.</h1>
        <p>
          Add a dollar and use it with every AI model listed here, from any program that speaks the OpenAI or Anthropic
          API. No subscription. You pay the provider's list price, with no markup. Every charge is settled on a
          blockchain, so you can verify your bill.
        </p>
        <div className="row">
          <Link className="button first" href="/funds">
            Add dollars
          </Link>
          <Link className="button" href="/keys">
            Get a key
          </Link>
        </div>
      </div>
      <Card title="How it works">
        <ol className="how">
          <li>
            <h3>Put in dollars</h3>
            <p className="quiet">
              A digital wallet pays digital dollars (a stablecoin) into a contract that nobody can empty. One dollar in
              is one dollar of AI. It cannot be paid back.
            </p>
          </li>
          <li>
            <h3>Make a key</h3>
            <p className="quiet">
              Your wallet signs one message, free of charge. The key can have a limit for a day, a month or its
              lifetime.
            </p>
          </li>
          <li>
            <h3>Use it anywhere</h3>
            <p className="quiet">
              Paste the key into a coding tool, a chat program or your own code. Each answer has a receipt, to a
              billionth of a dollar.
            </p>
          </li>
        </ol>
      </Card>
      <div className="two">
        <QuoteBox />
        <Now />
      </div>
    </>
  );
}

function Now(): ReactNode {
  const status = useStatus();
  return (
    <Card title="Right now" side={<Link href="/status">All of it</Link>}>
      <Read from={status} what="status">
        {({ ceiling, books, prices }) => (
          <>
            <Stat
              label="Left to spend today, all customers together"
              about={
                ceiling.resets_at === null ? undefined : (
                  <>
                    of <Amount nanoUsd={ceiling.limit_nano_usd} />. The limit protects everybody's dollars. It resets{" "}
                    {fromNow(ceiling.resets_at)}.
                  </>
                )
              }
            >
              <Amount nanoUsd={ceiling.left_nano_usd} />
            </Stat>
            <dl className="facts">
              <dt>Models offered</dt>
              <dd>{prices?.models ?? "none at the moment"}</dd>
              <dt>Backing</dt>
              <dd>
                {books?.adds_up === true ? (
                  <Badge kind="good">✓ every dollar is there</Badge>
                ) : books?.adds_up === false ? (
                  <Badge kind="bad">do not add up</Badge>
                ) : (
                  <Badge kind="warn">not all known</Badge>
                )}
              </dd>
              {books === null ? null : (
                <>
                  <dt>Dollars held</dt>
                  <dd>
                    <Amount nanoUsd={books.backing_nano_usd} />
                  </dd>
                </>
              )}
            </dl>
          </>
        )}
      </Read>
    </Card>
  );
}
