import { RefusedError } from "@inference/sdk/errors";
import { ArrowUp, Paperclip, Square, X } from "lucide-react";
import { type Dispatch, type ReactNode, type SetStateAction, useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { count, usd } from "../format.ts";
import type { Model } from "../gateway.ts";
import { can } from "../models/catalogue.ts";
import { Form } from "../parts/form.tsx";
import { Button, ButtonLink, Note, textOf } from "../parts.tsx";
import { pathTo } from "../route.ts";
import { imageUrl, MOST_IMAGES } from "./image.ts";
import type { Asking, Draft } from "./use-asking.ts";

type ComposerParts = {
  models: readonly Model[];
  model: Model;
  choose: (id: string) => void;
  draft: Draft;
  setDraft: Dispatch<SetStateAction<Draft>>;
  isFirst: boolean;
  isRunning: boolean;
  asking: Asking;
  send: () => void;
  setMaxTokens: (tokens: number) => void;
  /** In nano-dollars; undefined: a price is missing. */
  reserved: number | undefined;
  /** What the key used of its limit. */
  about: ReactNode;
};

/** The field for a message, the model, an image, and what the request reserves. */
export function Composer(parts: ComposerParts): ReactNode {
  const { models, model, choose, draft, setDraft, isFirst, isRunning, asking, send, reserved, about } = parts;
  const field = useRef<HTMLTextAreaElement>(null);
  const [problem, setProblem] = useState<string>();
  useEffect(() => field.current?.focus(), []);
  const takesImages = can(model, "vision");
  const isEmpty = draft.text.trim() === "" && draft.images.length === 0;
  const attach = async (files: readonly File[]): Promise<void> => {
    setProblem(undefined);
    if (!takesImages) return setProblem(`${model.id} does not take images. Choose a model with vision.`);
    if (draft.images.length + files.length > MOST_IMAGES) return setProblem(`At most ${MOST_IMAGES} images a message.`);
    try {
      const added = await Promise.all(files.map(imageUrl));
      // The reader may have typed meanwhile.
      setDraft((now) => ({ ...now, images: [...now.images, ...added] }));
    } catch (error) {
      setProblem(textOf(error));
    }
  };
  const submit = (): void => {
    if (!isRunning && !isEmpty) send();
  };
  return (
    <Form className="composer" submit={submit}>
      <Refusal {...parts} />
      {problem === undefined ? null : <Note kind="warn">{problem}</Note>}
      <div className="box">
        {draft.images.length === 0 ? null : (
          <div className="row attached">
            {draft.images.map((url, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: images have no other name
              <span key={index}>
                <img src={url} alt={`Attachment ${index + 1}`} />
                <Button
                  icon={X}
                  label={`Remove attachment ${index + 1}`}
                  act={() => setDraft({ ...draft, images: draft.images.filter((_, at) => at !== index) })}
                />
              </span>
            ))}
          </div>
        )}
        <textarea
          ref={field}
          rows={1}
          aria-label="Message"
          placeholder={isFirst ? "Ask anything" : "Ask a follow-up"}
          value={draft.text}
          onChange={({ target }) => setDraft({ ...draft, text: target.value })}
          onPaste={(event) => {
            const files = [...event.clipboardData.files];
            if (files.length === 0) return;
            event.preventDefault();
            void attach(files);
          }}
          onKeyDown={(event) => {
            if (event.key === "Escape" && isRunning) asking.stop();
            if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            submit();
          }}
        />
        <div className="row">
          <label className="attach" title={takesImages ? "Attach an image" : `${model.id} does not take images`}>
            <Paperclip />
            <input
              type="file"
              accept="image/*"
              multiple
              aria-label="Attach an image"
              disabled={!takesImages}
              onChange={({ target }) => {
                void attach([...(target.files ?? [])]);
                target.value = "";
              }}
            />
          </label>
          <select aria-label="Model" value={model.id} onChange={({ target }) => choose(target.value)}>
            {models.map(({ id, display_name: name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
          {isRunning ? (
            <Button icon={Square} className="send" label="Stop" act={asking.stop} />
          ) : (
            <Button icon={ArrowUp} className="first send" label="Send" disabled={isEmpty} />
          )}
        </div>
      </div>
      <div className="row apart hint under">
        <span>
          {reserved === undefined ? (
            <Link href={pathTo("models", model.id)}>Prices</Link>
          ) : (
            `This request reserves up to ${usd(reserved)}`
          )}
        </span>
        <span className="key-left">{about}</span>
      </div>
    </Form>
  );
}

/** Why the last request was refused, with the way out. The message is in the field again. */
function Refusal({ asking: { refusal }, setMaxTokens }: ComposerParts): ReactNode {
  if (refusal === null) return null;
  const { code, metadata = {} } = refusal instanceof RefusedError ? refusal : { code: "" };
  const [needed, available] = [metadata.needed_nano_usd, metadata.available_nano_usd];
  const { max_affordable_tokens: affordable } = metadata;
  const isKnown = typeof needed === "number" && typeof available === "number";
  const lower =
    typeof affordable === "number" && affordable > 0 ? (
      <Button
        text={`Lower the output limit to ${count(affordable)}`}
        className="little"
        act={() => setMaxTokens(affordable)}
      />
    ) : null;
  const isLimit = code === "key_limit_exceeded";
  if (isKnown && (isLimit || code === "insufficient_balance")) {
    const resetsAt = typeof metadata.resets_at === "string" ? metadata.resets_at.slice(11, 16) : null;
    return (
      <Note kind="bad">
        <p>
          {isLimit ? `The key Chat has ${usd(available)} left of its limit.` : `Your balance is ${usd(available)}.`}{" "}
          This request reserves up to {usd(needed)}.{isLimit ? "" : " Lower the output limit or add funds."}
          {isLimit && resetsAt !== null ? ` The limit resets at ${resetsAt} UTC.` : ""}
        </p>
        <div className="row">
          {lower}
          <ButtonLink
            text={isLimit ? "Change the limit" : "Add funds"}
            href={isLimit ? "/keys" : "/funds"}
            className="little"
          />
        </div>
      </Note>
    );
  }
  return <Note kind="bad">{textOf(refusal)}</Note>;
}
