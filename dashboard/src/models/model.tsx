import type { ReactNode } from "react";
import { Link } from "wouter";
import { type Model, useModels } from "../gateway.ts";
import { Code } from "../parts/code.tsx";
import { Badge, ButtonLink, Card, CopyButton, Crumbs, Empty, Note, Read } from "../parts.tsx";
import { pathTo } from "../route.ts";
import { useSession } from "../wallet/session.ts";
import { Calculator } from "./calculator.tsx";
import { CAPABILITIES, can, nearestIds } from "./catalogue.ts";
import { Facts, limitFacts, privacyFacts } from "./facts.tsx";
import { OwnUse } from "./own-use.tsx";
import { PriceCard } from "./price-card.tsx";
import { codeOf } from "./request-code.ts";

/** The page of one model: prices, limits, privacy, an estimate, own use, and code. */
export function ModelPage({ id }: { id: string }): ReactNode {
  const models = useModels();
  return (
    <Read from={models} what="model" height={520}>
      {(list) => {
        const model = list.find((each) => each.id === id);
        return model === undefined ? <Unknown {...{ id, list }} /> : <Known key={id} model={model} />;
      }}
    </Read>
  );
}

function Known({ model }: { model: Model }): ReactNode {
  const session = useSession();
  const { id, type, display_name: name, alias_of: original, fallbacks = [], features } = model;
  const { removes_at: removal, replacement_model: next } = features ?? {};
  return (
    <>
      <div className="head">
        <div>
          <Crumbs title="Models" href="/models" />
          <div className="row">
            <h1 className="large">{name}</h1>
            <CopyButton text={id} label="Copy id" />
          </div>
          {name === id ? null : <p className="mono">{id}</p>}
          <Capabilities model={model} />
        </div>
        {type === "text" ? (
          <ButtonLink text="Open in Chat" href={pathTo("chat", "", { model: id })} className="first" />
        ) : null}
      </div>
      {removal === undefined ? null : (
        <Note kind="warn">
          This model ends on {removal.slice(0, 10)}.{" "}
          {next === undefined ? null : (
            <>
              Its successor is <Link href={pathTo("models", next)}>{next}</Link>.
            </>
          )}
        </Note>
      )}
      {original === undefined ? null : (
        <p className="quiet">
          Another name of <Link href={pathTo("models", original)}>{original}</Link>
          {fallbacks.length === 0
            ? "."
            : `. If it cannot serve a chat, ${fallbacks.join(", then ")} does, at its own price.`}
        </p>
      )}
      <div className="two model-page">
        <div className="stack">
          <PriceCard model={model} />
          <div className="grid">
            <Card title="Limits">
              <Facts facts={limitFacts(model)} />
            </Card>
            <Card title="Privacy">
              <Facts facts={privacyFacts(model)} />
            </Card>
          </div>
          <Code tabs={codeOf({ type, model: id })} />
        </div>
        <div className="stack">
          <Calculator model={model} />
          {session === null ? null : <OwnUse {...{ session, id }} />}
        </div>
      </div>
    </>
  );
}

function Capabilities({ model }: { model: Model }): ReactNode {
  const own = CAPABILITIES.filter(([capability]) => can(model, capability));
  if (own.length === 0) return null;
  return (
    <ul className="row abilities-list">
      {own.map(([capability, title, Icon]) => (
        <li key={capability}>
          <Badge>
            {Icon === null ? null : <Icon />}
            {title}
          </Badge>
        </li>
      ))}
    </ul>
  );
}

function Unknown({ id, list }: { id: string; list: readonly Model[] }): ReactNode {
  const near = nearestIds(list, id);
  return (
    <>
      <Crumbs title="Models" href="/models" />
      <h1 className="wrap">There is no model {id}</h1>
      <Empty
        action={
          near.length === 0 ? (
            <ButtonLink text="All models" href="/models" />
          ) : (
            <ul className="row abilities-list">
              {near.map((each) => (
                <li key={each}>
                  <ButtonLink text={each} href={pathTo("models", each)} />
                </li>
              ))}
            </ul>
          )
        }
      >
        {near.length === 0 ? "No id is like this one." : near.length === 1 ? "The nearest id:" : "The nearest ids:"}
      </Empty>
    </>
  );
}
