import { parseUsd } from "@inference/protocol/money";
import { NEAR_LIMIT_PERCENT, type WebhookEvent, webhookEvents } from "@inference/protocol/webhook";
import {
  addWebhook,
  listDeliveries,
  listWebhooks,
  type NewWebhook,
  removeWebhook,
  testWebhook,
  type Webhook,
  type WebhookDelivery,
} from "@inference/sdk/webhooks";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { usd, when } from "../format.ts";
import { CodeBlock } from "../parts/code.tsx";
import { Form, TextField } from "../parts/form.tsx";
import { Badge, Button, Card, Failure, type Kind, Note, Read } from "../parts.tsx";
import { useChange, useOwn } from "../wallet/session.ts";
import type { SignedIn } from "../wallet/wallet.ts";

const eventWords: Readonly<Record<WebhookEvent, string>> = {
  "balance.low": "Balance below an amount",
  "key.limit_near": `Key at ${NEAR_LIMIT_PERCENT} % of its limit`,
  "key.limit_reached": "Key at its limit",
  "credit.added": "Dollars arrived",
  "offer.ended": "Agent's offer ended",
};

/** The wallet's webhooks, a form for another one, and the last deliveries. */
export function Webhooks({ wallet }: { wallet: SignedIn }): ReactNode {
  const webhooks = useOwn(wallet, ["webhooks"], listWebhooks, 15_000);
  const deliveries = useOwn(wallet, ["deliveries"], listDeliveries, 15_000);
  const [made, setMade] = useState<NewWebhook>();
  return (
    <Card title="Webhooks">
      <p>A signed message to your server when the balance runs low, a key nears its limit or dollars arrive.</p>
      <Read from={webhooks} what="webhooks">
        {(list) =>
          list.length === 0 ? null : (
            <ul className="lines">
              {list.map((webhook) => (
                <li key={webhook.id}>
                  <OneWebhook wallet={wallet} webhook={webhook} />
                </li>
              ))}
            </ul>
          )
        }
      </Read>
      {made === undefined ? <AddWebhook wallet={wallet} done={setMade} /> : <Secret made={made} done={setMade} />}
      <Read from={deliveries} what="deliveries">
        {(list) => (list.length === 0 ? null : <Deliveries list={list} />)}
      </Read>
    </Card>
  );
}

function OneWebhook({ wallet, webhook: { id, url, events, threshold_nano_usd: threshold } }: OneParts): ReactNode {
  const test = useMutation({ mutationFn: () => testWebhook(wallet.reading, id) });
  const remove = useChange(wallet, (reading) => removeWebhook(reading, id));
  const words = events.map((event) => {
    return event === "balance.low" && threshold !== null ? `Balance below ${usd(threshold)}` : eventWords[event];
  });
  return (
    <section className="note" aria-label={`Webhook ${url}`}>
      <h3 className="mono">{url}</h3>
      <p className="small quiet">{words.join(", ")}.</p>
      <div className="row">
        <Button text="Send a test" waits={test.isPending && "Sending …"} className="little" act={() => test.mutate()} />
        <Button text="Remove" className="little danger" disabled={remove.isPending} act={() => remove.mutate()} />
        <span aria-live="polite">
          {test.data === undefined ? null : (
            <Badge kind={test.data.delivered ? "good" : "bad"}>
              {test.data.delivered ? "delivered" : "not delivered"}: {resultWords(test.data.result)}
            </Badge>
          )}
        </span>
      </div>
      <Failure error={test.error} />
      <Failure error={remove.error} />
    </section>
  );
}
type OneParts = { wallet: SignedIn; webhook: Webhook };

function AddWebhook({ wallet, done }: { wallet: SignedIn; done: (made: NewWebhook) => void }): ReactNode {
  const [form, setForm] = useState({ url: "", threshold: "5.00", events: [...webhookEvents] as WebhookEvent[] });
  const { url, threshold, events } = form;
  const isLow = events.includes("balance.low");
  const terms = { url, events, ...(isLow ? { threshold: threshold.trim() } : {}) };
  const add = useChange(wallet, (reading) => addWebhook(reading, terms), done);
  const wrong = isLow && !parseUsd(threshold.trim()) ? "An amount in dollars, such as 5.00." : undefined;
  const toggle = (event: WebhookEvent): void => {
    setForm({ ...form, events: webhookEvents.filter((one) => events.includes(one) !== (one === event)) });
  };
  return (
    <details>
      <summary>Add a webhook</summary>
      <Form className="stack tight" submit={() => add.mutate()}>
        <TextField
          label="URL"
          type="url"
          required
          placeholder="https://example.com/webhook"
          text={url}
          set={(text) => setForm({ ...form, url: text })}
        />
        <fieldset className="row">
          <legend className="label">Events</legend>
          {webhookEvents.map((event) => (
            <label key={event}>
              <input type="checkbox" checked={events.includes(event)} onChange={() => toggle(event)} />{" "}
              {eventWords[event]}
            </label>
          ))}
        </fieldset>
        {isLow ? (
          <TextField
            label="Balance below, in dollars"
            error={wrong}
            inputMode="decimal"
            text={threshold}
            set={(text) => setForm({ ...form, threshold: text })}
          />
        ) : null}
        <div className="row">
          <Button text="Add" disabled={add.isPending || events.length === 0 || wrong !== undefined} />
        </div>
        <Failure error={add.error} />
      </Form>
    </details>
  );
}

function Secret({ made: { secret, data }, done }: { made: NewWebhook; done: (made: undefined) => void }): ReactNode {
  return (
    <Note kind="warn">
      <p>
        <strong>Copy the secret now: it is shown this once.</strong> It verifies the messages to {data.url} by{" "}
        <a href="https://www.standardwebhooks.com">Standard Webhooks</a>.
      </p>
      <CodeBlock label="Secret" text={secret} />
      <p>
        <Button text="I have copied it" className="little" act={() => done(undefined)} />
      </p>
    </Note>
  );
}

const statusKinds: Readonly<Record<WebhookDelivery["status"], Kind>> = {
  delivered: "good",
  pending: "plain",
  given_up: "bad",
};

function Deliveries({ list }: { list: readonly WebhookDelivery[] }): ReactNode {
  return (
    <details>
      <summary>Last deliveries</summary>
      <ul className="lines">
        {list.map(({ id, type, created_at: at, status, attempts, result }) => (
          <li key={id} className="row apart">
            <span>
              {eventWords[type]} <span className="small quiet">{when(at)}</span>
            </span>
            <span className="row">
              <span className="small quiet">
                {attempts === 1 ? "1 attempt" : `${attempts} attempts`}
                {result === null ? "" : `, ${resultWords(result)}`}
              </span>
              <Badge kind={statusKinds[status]}>{status.replace("_", " ")}</Badge>
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}

function resultWords(result: string): string {
  return result.replaceAll("_", " ");
}
