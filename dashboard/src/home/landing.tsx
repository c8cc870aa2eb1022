import { ArrowRight } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { count } from "../format.ts";
import { type Model, useModels, useStatus } from "../gateway.ts";
import { pricesOf, shownPrice } from "../models/cost.ts";
import { Table } from "../parts/table.tsx";
import { Amount, ButtonLink, Card, Skeleton, Stat } from "../parts.tsx";
import { Account } from "../shell/header.tsx";
import { Brand, State } from "../shell/navigation.tsx";
import { ThemeButton } from "../shell/theme-button.tsx";
import { RequestCode } from "./request-code.tsx";

/** Signed out: what this is, for whom, and why not another service. */
export default function Landing(): ReactNode {
  return (
    <>
      <header className="landing-top">
        <Brand />
        <nav aria-label="Pages">
          <Link href="/models">Models</Link>
          <a href="/docs">Docs</a>
          <Link href="/verify">Verify</Link>
          <Link href="/status">Status</Link>
        </nav>
        <div className="end">
          <ThemeButton />
          <Account isNeeded={false} />
        </div>
      </header>
      <div className="hero">
        <div className="stack">
          <h1>
            One balance.
            <br />
            Every model.
            <br />A bill you can prove.
          </h1>
          <p className="lead">
            For developers and agents who must not overspend: pay per token at the provider's list price, give each key
            a limit that no request can pass, and check every charge on chain.
          </p>
          <div className="row">
            <ButtonLink text="Get started" href="/funds" className="first main" />
            <a href="/docs" className="button plain">
              Read the docs <ArrowRight />
            </a>
          </div>
        </div>
        <RequestCode
          foot={<p className="foot">Any OpenAI or Anthropic client works: change its base URL and key.</p>}
        />
      </div>
      <Facts />
      <ol className="three">
        {STEPS.map(([title, about]) => (
          <li key={title}>
            <h2>{title}</h2>
            <p className="quiet">{about}</p>
          </li>
        ))}
      </ol>
      <Compared />
      <p className="landing-state hint">
        <State />
      </p>
    </>
  );
}

const STEPS: readonly (readonly [string, string])[] = [
  [
    "Add funds",
    "Pay in digital dollars from a wallet. One dollar in is one dollar of inference. Added funds pay for inference " +
      "and cannot be withdrawn.",
  ],
  [
    "Create a key",
    "Sign one message, without gas. Give each key a limit for a day, a month or its lifetime. A request that could " +
      "pass the limit is refused before it starts.",
  ],
  [
    "Change the base URL",
    "Your present client works. Each paid answer has a receipt that leads to the block of its charge.",
  ],
];

/** Facts of now, from the gateway. What is not known is left out, and what is wrong is said. */
function Facts(): ReactNode {
  const status = useStatus();
  const models = useModels();
  if (status.error !== null || models.error !== null) return null;
  const cheapest = models.data === undefined ? null : cheapestText(models.data);
  const books = status.data?.books ?? null;
  const wait = <Skeleton height={36} width={100} />;
  return (
    <section className="facts-strip" aria-label="Facts of now">
      <Stat label={models.data === undefined ? "models" : `models: ${typesOf(models.data)}`}>
        {models.data === undefined ? wait : count(models.data.length)}
      </Stat>
      <Stat label="per 1M input tokens, lowest text price">
        {models.data === undefined ? wait : cheapest === null ? "–" : cheapest}
      </Stat>
      <Stat label="added to the provider's list price">0%</Stat>
      <Stat label={status.data === undefined ? "reserves" : reservesOf(books)}>
        {status.data === undefined ? wait : books === null ? "–" : <Amount nanoUsd={BigInt(books.backing_nano_usd)} />}
      </Stat>
    </section>
  );
}

function reservesOf(books: NonNullable<ReturnType<typeof useStatus>["data"]>["books"]): ReactNode {
  if (books === null) return "reserves, not read at this moment";
  if (books.adds_up === true) return `reserves, equal to all claims at block ${count(books.block)}`;
  if (books.adds_up === null) return "reserves; not every chain is read at this moment";
  return <span className="state bad">reserves, which do not equal the claims</span>;
}

function typesOf(models: readonly Model[]): string {
  const names = new Set(models.map(({ type }) => TYPES.get(type) ?? type));
  return [...names].join(", ");
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ["image", "images"],
  ["embedding", "embeddings"],
  ["asr", "transcription"],
  ["tts", "speech"],
  ["inpaint", "image edits"],
  ["upscale", "upscaling"],
]);

/** The lowest input price above zero of a text model, per million tokens. */
function cheapestText(models: readonly Model[]): string | null {
  const prices = models.flatMap(({ type, pricing }) => (type === "text" ? pricesOf(type, pricing).slice(0, 1) : []));
  const [least] = prices.filter(({ atto }) => atto > 0n).toSorted((one, other) => (one.atto < other.atto ? -1 : 1));
  return least === undefined ? null : shownPrice(least);
}

/** The last row speaks against us. */
const ROWS = [
  ["Price", "Provider's list price, no markup", "Fixed, with usage caps", "List price, often plus a fee"],
  ["Subscription", "None", "Every month", "None"],
  [
    "Spending limit",
    "Per key, reserved before each request",
    "Often blocked past the cap",
    "Often checked after the request",
  ],
  ["Bill", "Every charge provable on chain", "Often no detail of usage", "The seller's word"],
  ["Refund", "None: funds pay for inference only", "Varies", "Varies"],
] as const;

function Compared(): ReactNode {
  const name = useStatus().data?.operator.name ?? "This service";
  return (
    <Card title="Compared with" isFlush className="compared">
      <Table
        label="Compared with other ways to pay"
        asCards
        rows={ROWS}
        keyOf={([what]) => what}
        columns={[
          { title: "What", className: "quiet", inCard: "whole", cell: ([what]) => what },
          { title: name, inCard: "titled", className: "own", cell: ([, own]) => own },
          { title: "Monthly subscription", inCard: "titled", className: "quiet", cell: ([, , other]) => other },
          { title: "Prepaid API credits", inCard: "titled", className: "quiet", cell: ([, , , other]) => other },
        ]}
      />
    </Card>
  );
}
