import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { count } from "../format.ts";
import type { Model } from "../gateway.ts";
import { cellOf, columnPrices } from "../models/cost.ts";
import { codeOf } from "../models/request-code.ts";
import { Code } from "../parts/code.tsx";
import { Field, Segments, TextField } from "../parts/form.tsx";
import { Amount, Button, Fact } from "../parts.tsx";
import { pathTo } from "../route.ts";
import { type Chat, type ChatSettings, sumsOf } from "./chats.ts";
import type { ChatBody } from "./request.ts";

export type RailTab = "settings" | "code";
type RailParts = {
  tab: RailTab;
  setTab: (tab: RailTab) => void;
  settings: ChatSettings;
  change: (change: Partial<ChatSettings>) => void;
  model: Model;
  chat: Chat | undefined;
  /** The next request. */
  body: ChatBody;
  /** The key's text, to show in the code if the reader wants it. */
  secret: string | undefined;
  forget: () => void;
};

/** Settings or code, then what the chat cost, and the model's prices. */
export function Rail(parts: RailParts): ReactNode {
  const { tab, setTab, chat, model } = parts;
  return (
    <>
      <Segments<RailTab>
        label="Show"
        value={tab}
        options={[
          ["settings", "Settings"],
          ["code", "Code"],
        ]}
        set={setTab}
      />
      {tab === "settings" ? <Settings {...parts} /> : <RequestCode {...parts} />}
      {chat === undefined ? null : <Cost chat={chat} />}
      <Prices model={model} />
    </>
  );
}

function Settings({ settings, change, model, secret, forget }: RailParts): ReactNode {
  const { system, temperature, maxTokens } = settings;
  const [tokens, setTokens] = useState(String(maxTokens));
  const most = model.max_tokens ?? 1_000_000;
  const isLimit = (text: string): boolean => /^[1-9]\d{0,6}$/.test(text) && Number(text) <= most;
  const isTemperature = temperature === "" || (/^\d(\.\d{1,3})?$/.test(temperature) && Number(temperature) <= 2);
  return (
    <div className="stack">
      <Field label="System prompt">
        {(props) => (
          <textarea
            {...props}
            rows={4}
            value={system}
            placeholder="How the model is to answer"
            onChange={({ target }) => change({ system: target.value })}
          />
        )}
      </Field>
      <TextField
        label="Temperature"
        error={isTemperature ? undefined : "A number from 0 to 2, or empty."}
        inputMode="decimal"
        placeholder="The model's own"
        text={temperature}
        set={(text) => change({ temperature: text.trim() })}
      />
      <TextField
        label="Output limit"
        about="Tokens. A higher limit reserves more while the answer comes."
        error={isLimit(tokens) ? undefined : `A whole number, at most ${count(most)}.`}
        inputMode="numeric"
        text={isLimit(tokens) ? String(maxTokens) : tokens}
        set={(typed) => {
          const text = typed.replaceAll(/[ ,]/g, "");
          setTokens(text);
          if (isLimit(text)) change({ maxTokens: Number(text) });
        }}
      />
      {secret === undefined ? null : (
        <p className="hint">
          The page asks with the key Chat, which stays in this browser. Change its limit or disable it on{" "}
          <Link href="/keys">Keys</Link>. <Button text="Forget it here" className="link" act={forget} />
        </p>
      )}
    </div>
  );
}

function RequestCode({ body, secret }: RailParts): ReactNode {
  const [hasKey, setHasKey] = useState(false);
  const messages = body.messages.map(({ role, content }) => ({ role, content: withoutImages(content) }));
  return (
    <div className="stack">
      <Code
        tabs={codeOf({
          type: "text",
          model: body.model,
          messages: messages.length === 0 ? undefined : messages,
          maxTokens: body.max_tokens,
          temperature: body.temperature,
          key: hasKey ? secret : undefined,
        })}
      />
      {secret === undefined ? null : (
        <Button
          text={hasKey ? "Take the key out" : "Put the key in"}
          aria-pressed={hasKey}
          act={() => setHasKey(!hasKey)}
        />
      )}
    </div>
  );
}

/** An image is too long for code to read. */
function withoutImages(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return content.map((part: { type: string }) =>
    part.type === "image_url" ? { type: "image_url", image_url: { url: "data:image/png;base64,YOUR_IMAGE" } } : part,
  );
}

function Cost({ chat }: { chat: Chat }): ReactNode {
  const { answers, unknown, input, output, nanoUsd } = sumsOf(chat);
  const replaced = chat.replaced.filter(({ receipt }) => receipt !== null).length;
  return (
    <section className="stack tight" aria-label="This chat">
      <h2 className="little-head">This chat</h2>
      <dl className="facts right">
        <Fact name="Answers" value={count(answers)} />
        {replaced === 0 ? null : <Fact name="Of these, replaced" value={count(replaced)} />}
        <Fact name="Input, output" value={`${count(input)}, ${count(output)} tokens`} />
        {unknown === 0 ? null : <Fact name="Charge not known yet" value={count(unknown)} />}
        <Fact name="Cost">
          <strong>
            <Amount nanoUsd={nanoUsd} />
          </strong>
        </Fact>
      </dl>
    </section>
  );
}

const COLUMNS = [
  ["Input", "input"],
  ["Cached input", "cached"],
  ["Output", "output"],
] as const;

function Prices({ model: { id, type, pricing, context_length: context } }: { model: Model }): ReactNode {
  return (
    <section className="stack tight" aria-label={id}>
      <h2 className="little-head">
        <Link href={pathTo("models", id)}>{id}</Link>
      </h2>
      <dl className="facts right">
        {COLUMNS.map(([title, column]) => {
          const cell = cellOf(columnPrices(type, pricing, column));
          if (cell === null) return <Fact key={title} name={title} value="–" />;
          return (
            <Fact key={title} name={title}>
              {cell.isFrom ? "from " : ""}
              {cell.price} <span className="hint">per 1M</span>
            </Fact>
          );
        })}
        <Fact name="Context" value={context === null ? "–" : `${count(context)} tokens`} />
      </dl>
    </section>
  );
}
