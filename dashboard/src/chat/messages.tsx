import { Code as CodeIcon, Pencil, RefreshCw } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { count, duration } from "../format.ts";
import { Form } from "../parts/form.tsx";
import { Amount, Button, CopyButton } from "../parts.tsx";
import { pathTo } from "../route.ts";
import type { Answer, Message, Question } from "./chats.ts";
import { ModelText } from "./markdown.tsx";

type Acts = {
  /** Null while an answer is coming. */
  edit: ((id: string, text: string) => void) | null;
  regenerate: (() => void) | null;
  showCode: () => void;
};

/** The messages of a chat. The end stays in sight while an answer comes, unless the reader scrolled up. */
export function Messages({ messages, ...acts }: { messages: readonly Message[] } & Acts): ReactNode {
  const end = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    const scrolls = list.current?.parentElement;
    if (!scrolls) return;
    let before = 0;
    const onScroll = (): void => {
      const { scrollTop, scrollHeight, clientHeight } = scrolls;
      // The content may have grown since this scroll: only a scroll up leaves the end.
      isAtEnd.current = scrollHeight - scrollTop - clientHeight < 80 || (isAtEnd.current && scrollTop >= before);
      before = scrollTop;
    };
    scrolls.addEventListener("scroll", onScroll, { passive: true });
    return () => scrolls.removeEventListener("scroll", onScroll);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new part of an answer scrolls
  useEffect(() => {
    if (isAtEnd.current) end.current?.scrollIntoView({ block: "end" });
  }, [messages]);
  const last = messages.at(-1);
  return (
    <div className="messages" ref={list}>
      {messages.map((message) =>
        message.role === "user" ? (
          <Asked key={message.id} question={message} edit={acts.edit} />
        ) : (
          <Answered key={message.id} answer={message} isLast={message === last} {...acts} />
        ),
      )}
      <p className="hidden" role="status">
        {last?.role !== "assistant" ? "" : last.end === "streaming" ? "The answer is coming." : "The answer has ended."}
      </p>
      <div ref={end} />
    </div>
  );
}

function Asked({ question: { id, text, images }, edit }: { question: Question; edit: Acts["edit"] }): ReactNode {
  const [draft, setDraft] = useState<string>();
  if (draft !== undefined) {
    const send = (): void => {
      edit?.(id, draft);
      setDraft(undefined);
    };
    return (
      <Form className="asked editing" submit={send}>
        <textarea
          aria-label="Edit your message"
          // biome-ignore lint/a11y/noAutofocus: the reader asked to edit it
          autoFocus
          value={draft}
          onChange={({ target }) => setDraft(target.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") setDraft(undefined);
          }}
        />
        <div className="row">
          <Button text="Send again" className="little" disabled={edit === null || draft.trim() === ""} />
          <Button text="Cancel" className="little plain" act={() => setDraft(undefined)} />
        </div>
      </Form>
    );
  }
  return (
    <div className="asked">
      <div className="bubble">
        <span className="hidden">You: </span>
        {images.map((url, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the list of images does not change
          <img key={index} src={url} alt={`Attachment ${index + 1}`} />
        ))}
        {text}
      </div>
      {edit === null ? null : <Button icon={Pencil} label="Edit and send again" act={() => setDraft(text)} />}
    </div>
  );
}

type AnsweredParts = { answer: Answer; isLast: boolean } & Acts;

function Answered({ answer, isLast, regenerate, showCode }: AnsweredParts): ReactNode {
  const { text, reasoning, model, receipt, end } = answer;
  const isComing = end === "streaming";
  return (
    <article className="answered" aria-label={`Answer of ${model}`}>
      {reasoning === "" ? null : (
        <details>
          <summary>Reasoning</summary>
          <p className="quiet reasoning">{reasoning}</p>
        </details>
      )}
      {text === "" ? <p className="quiet">{isComing ? "…" : "No text came."}</p> : <ModelText text={text} />}
      <Ending answer={answer} />
      <div className="meta">
        <Used answer={answer} />
        {receipt === null || isComing ? null : <Link href={pathTo("activity", receipt)}>Receipt</Link>}
        {isComing ? null : (
          <span className="acts">
            <CopyButton text={text} label="Copy the answer" isIcon />
            {isLast && regenerate !== null ? <Button icon={RefreshCw} label="Answer again" act={regenerate} /> : null}
            <Button icon={CodeIcon} className="icon little code-act" label="Show the code" act={showCode} />
          </span>
        )}
      </div>
    </article>
  );
}

/** Why an answer is not whole, and what was charged for it. */
function Ending({ answer: { end, usage } }: { answer: Answer }): ReactNode {
  if (end === "limit") return <p className="ending">Cut off at the output limit. Raise it in Settings to get more.</p>;
  if (end !== "stopped" && end !== "broken") return null;
  const what = end === "stopped" ? "Stopped." : "The connection broke off.";
  if (usage === null) return <p className="ending">{what} The receipt with the charge is not there yet.</p>;
  if (usage.nanoUsd === 0) return <p className="ending">{what} Nothing was charged.</p>;
  return (
    <p className="ending">
      {what} Charged for {count(usage.input + usage.output)} tokens: <Amount nanoUsd={usage.nanoUsd} />
    </p>
  );
}

function Used({ answer: { model, usage, firstTokenMs } }: { answer: Answer }): ReactNode {
  return (
    <>
      <span className="wide-only">{model}</span>
      {usage === null ? null : (
        <>
          <span>{count(usage.input)} in</span>
          <span>{count(usage.output)} out</span>
        </>
      )}
      {firstTokenMs === null ? null : (
        <span>
          {duration(firstTokenMs)}
          <span className="wide-only"> to first token</span>
        </span>
      )}
      {usage === null ? null : (
        <strong>
          <Amount nanoUsd={usage.nanoUsd} />
        </strong>
      )}
    </>
  );
}
